"""Checkpoints as PyTorch really writes and reads them: whole, few, and never a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

Run = Callable[..., list[Any]]
HEAD = "import torch\nfrom trainyard.worker import latest_checkpoint, save_checkpoint\n"


def test_the_newest_few_are_kept_and_the_newest_is_read(run: Run, tmp_path: Path) -> None:
    script = """
assert latest_checkpoint() is None
for step in (1, 2, 10):
    path = save_checkpoint({"w": torch.full((3,), float(step)), "note": "é", "list": [1, 2.5]}, step)
(path.parent / "000000000003.writing").write_bytes(b"left by an attempt that was killed")
save_checkpoint({"w": torch.full((3,), 11.0)}, 11)
step, state = latest_checkpoint()
print(step, state["w"].tolist(), sorted(item.name for item in path.parent.iterdir()))
"""
    (ended,) = run(HEAD + script)
    assert ended.output == "11 [11.0, 11.0, 11.0] ['000000000010.ckpt', '000000000011.ckpt']\n"


@pytest.mark.parametrize("damage", ["content[:400]", "b''", "b'nonsense'", "content[:-200] + bytes(200)"])
def test_a_damaged_one_is_passed_over_and_not_allowed_to_push_out_new_ones(run: Run, damage: str) -> None:
    script = f"""
save_checkpoint({{"step": 1}}, 1)
path = save_checkpoint({{"w": torch.zeros(100)}}, 9)
content = path.read_bytes()
path.write_bytes({damage})
print(latest_checkpoint())
save_checkpoint({{"step": 2}}, 2, keep=1)
print(latest_checkpoint())
"""
    (ended,) = run(HEAD + script)
    told, first, second = ended.output.splitlines()
    assert told.startswith("trainyard: checkpoint 000000000009.ckpt cannot be read (")
    assert told.endswith("; trying an older one")
    assert (first, second) == ("(1, {'step': 1})", "(2, {'step': 2})")


def test_a_program_is_not_loaded_and_not_passed_over_in_silence(run: Run) -> None:
    script = """
class Mine: pass
save_checkpoint({"step": 1}, 1)
save_checkpoint({"mine": Mine()}, 2)
latest_checkpoint()
"""
    (ended,) = run(HEAD + script)
    assert ended.code == 1
    assert "000000000002.ckpt holds objects of Python classes; save tensors, numbers, text" in ended.output


def test_only_rank_0_writes_unless_all_do(run: Run, tmp_path: Path) -> None:
    script = """
from trainyard.worker import here
assert (save_checkpoint({"a": 1}, 1) is not None) == (here().rank == 0)
assert save_checkpoint({"rank": here().rank}, 1, all_ranks=True) is not None
assert latest_checkpoint(all_ranks=True) == (1, {"rank": here().rank})
"""
    ended = run(HEAD + script, world=2)
    assert [item.code for item in ended] == [0, 0], ended[0].output + ended[1].output
    found = sorted(str(path.relative_to(tmp_path / "checkpoints")) for path in tmp_path.rglob("*.ckpt"))
    assert found == ["000000000001.ckpt", "rank-0/000000000001.ckpt", "rank-1/000000000001.ckpt"]


@pytest.mark.parametrize(("call", "words"), [("1, keep=0", "keep must be 1 or more, not 0"), ("-1", "step must be 0")])
def test_impossible_wishes(run: Run, call: str, words: str) -> None:
    (ended,) = run(HEAD + f"save_checkpoint({{}}, {call})")
    assert f"ValueError: {words}" in ended.output
