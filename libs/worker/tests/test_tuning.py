"""Defaults that are measured, and the switches for memory, on real torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.worker import EmptyCache
from trainyard.worker.cpus import cpu_share
from trainyard.worker.loading import candidates
from trainyard.worker.memory import mixed_precision

Run = Callable[..., list[Any]]


@pytest.mark.parametrize(
    ("files", "env", "share"),
    [
        ({"cpu.max": "50000 100000"}, {}, 0.5),
        ({"cpu.max": "150000 100000"}, {"LOCAL_WORLD_SIZE": "2"}, 0.75),
        ({"cpu.max": "max 100000"}, {"TRAINYARD_CPU": "0.25"}, 0.25),
        ({"cpu/cpu.cfs_quota_us": "20000", "cpu/cpu.cfs_period_us": "100000"}, {}, 0.2),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, {"TRAINYARD_CPU": "0.3"}, 0.3),
        ({"cpu.max": "nonsense"}, {"TRAINYARD_CPU": "0.4"}, 0.4),
    ],
)
def test_the_cores_that_are_really_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], env: dict[str, str], share: float
) -> None:
    for name in ("LOCAL_WORLD_SIZE", "TRAINYARD_CPU"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_share(tmp_path) == pytest.approx(share)


def test_counts_worth_trying() -> None:
    assert candidates(0.5) == [0, 1, 2]
    assert candidates(4) == [0, 3, 4, 8]


def test_wrong_words_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="bf16 or fp16, not 'int8'"):
        mixed_precision("int8")
    monkeypatch.setenv("TRAINYARD_FRAMEWORK", "xgboost")
    with pytest.raises(ValueError, match="xgboost has no switch"):
        mixed_precision()
    with pytest.raises(ValueError, match="every is 1 or more"):
        EmptyCache(0)


LOADER = """
import torch
from torch.utils.data import TensorDataset
from trainyard.worker import tuned_loader
data = TensorDataset(torch.arange(640.0))
loader = tuned_loader(data, batch_size=8, shuffle=True, {options})
print("total", sum(batch[0].sum().item() for batch in loader), len(loader), loader.num_workers, loader.persistent_workers)
"""


@pytest.mark.integration
def test_the_count_of_workers_is_measured_and_told(run: Run) -> None:
    (told,) = run(LOADER.format(options=""))
    assert told.code == 0, told.output
    assert "data workers, the fastest of what was measured with" in told.output
    assert "total 204480.0 80" in told.output
    (off,) = run(LOADER.format(options=""), TRAINYARD_DEFAULTS="-data-workers")
    assert "total 204480.0 80 0 False" in off.output
    assert "measured" not in off.output
    (said,) = run(LOADER.format(options="num_workers=1"))
    assert "total 204480.0 80 1 True" in said.output
    (wrong,) = run(LOADER.format(options="num_workers='many'"))
    assert "ValueError: num_workers is a count or 'measure', not 'many'" in wrong.output


MEMORY = """
import torch
from trainyard.worker import checkpoint_gradients, mixed_precision, EmptyCache
torch.manual_seed(0)
network = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
x = torch.ones(2, 8)
network(x).sum().backward()
plain = [p.grad.clone() for p in network.parameters()]
network.zero_grad()
checkpoint_gradients(network)(x).sum().backward()
print("same", all(torch.equal(a, p.grad) for a, p in zip(plain, network.parameters())))
with mixed_precision("bf16"):
    print("dtype", network(x).dtype)
print("emptied", [EmptyCache(1).step()])
"""


@pytest.mark.integration
def test_switches_for_memory(run: Run) -> None:
    (ended,) = run(MEMORY)
    assert ended.code == 0, ended.output
    assert "same True" in ended.output
    assert "dtype torch.bfloat16" in ended.output
    assert "emptied [False]" in ended.output, "there is no GPU here"
    assert "gradient checkpointing in Sequential" in ended.output
