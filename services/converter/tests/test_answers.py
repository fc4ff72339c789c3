"""What a worker leaves behind is not believed: code in a model could have written all of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trainyard.common.errors import Retryable
from trainyard.converter.adapters import answers
from trainyard.converter.adapters.answers import line
from trainyard.converter.adapters.sandbox import Limits, Outcome
from trainyard.converter.adapters.worker_exporter import answer, inspected
from trainyard.converter.ports import Exported, ExportFault, ModelFault

GOOD = {"framework": "torch 2", "parameters": 3, "reference_seconds": 0.1, "output_names": ["a/b"]}
CASES = {"random, batch 1": {"x": np.zeros(3)}}


def left(folder: Path, document: object = GOOD, *, names: tuple[str, ...] = ("a/b",)) -> Path:
    """A folder as an honest worker leaves it, but for what is given."""
    (folder / "answer.json").write_text(json.dumps(document))
    (folder / "model.onnx").write_bytes(b"onnx")
    stored = {f"{case}/{name}": np.ones(2) for case in CASES for name in names}
    np.savez(folder / "references.npz", **stored)  # type: ignore[arg-type]
    return folder


def read(folder: Path) -> Exported:
    return answer(folder, Outcome(0, "", ""), Limits(), CASES)


def test_an_honest_answer_is_taken_with_any_name_of_an_output(tmp_path: Path) -> None:
    exported = read(left(tmp_path))
    assert exported.output_names == ("a/b",)
    np.testing.assert_array_equal(exported.references["random, batch 1"]["a/b"], np.ones(2))


FALSE: dict[str, tuple[object, str]] = {
    "nothing in it": ({}, "its answer is none (framework: Field required)"),
    "a list": ([], "its answer is none (JSON: Input should be an object)"),
    "a count that is none": ({**GOOD, "parameters": "3"}, "parameters: Input should be a valid integer"),
    "a negative count": ({**GOOD, "parameters": -1}, "parameters: Input should be greater than or equal to 0"),
    "no output": ({**GOOD, "output_names": []}, "output_names: List should have at least 1 item"),
    "a name that is none": ({**GOOD, "output_names": [3]}, "output_names.0: Input should be a valid string"),
    "an unknown fault": ({"fault": "none"}, "fault: Input should be 'model', 'export', 'machine' or 'nothing'"),
    "a fault of many lines": ({"fault": "model", "message": "one\ntwo\0three"}, r"one two\x00three"),
    "an output that was not computed": ({**GOOD, "output_names": ["c"]}, "lacks the output 'c' of random, batch 1"),
}


@pytest.mark.parametrize("kind", FALSE)
def test_a_false_answer_is_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    document, words = FALSE[kind]
    with pytest.raises(ModelFault) as caught:
        read(left(tmp_path, document))
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_inspection_tells_tensors_or_nothing(tmp_path: Path) -> None:
    left(tmp_path, {"framework": "f", "inputs": [{"name": "x", "dtype": "float32", "shape": ["many"]}]})
    with pytest.raises(ModelFault, match=r"inputs\.0\.shape\.0: Input should be a valid integer"):
        inspected(tmp_path, Outcome(0, "", ""))


def link(file: Path) -> None:
    file.symlink_to("/etc/passwd")


def hard_link(file: Path) -> None:
    (file.parent / "other").write_text("secret")
    os.link(file.parent / "other", file)


@pytest.mark.parametrize("name", ["model.onnx", "answer.json", "references.npz"])
@pytest.mark.parametrize("instead", [link, hard_link, os.mkfifo, Path.mkdir])
def test_only_files_of_its_own_are_read(tmp_path: Path, name: str, instead: Callable[[Path], None]) -> None:
    (left(tmp_path) / name).unlink()
    instead(tmp_path / name)
    with pytest.raises(ModelFault, match=rf"the model was ended: .*{name}"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["model.onnx", "references.npz"])
def test_what_was_not_written_is_a_fault_of_this_rung(tmp_path: Path, name: str) -> None:
    (left(tmp_path) / name).unlink()
    with pytest.raises(ExportFault, match=f"the exporter has written no {name}"):
        read(tmp_path)


def test_arrays_may_be_no_pickles(tmp_path: Path) -> None:
    left(tmp_path)
    np.savez(tmp_path / "references.npz", **{"random, batch 1/a/b": np.array([print], object)})  # type: ignore[arg-type]
    with pytest.raises(ModelFault, match=r"references\.npz cannot be read: Object arrays cannot be loaded"):
        read(tmp_path)


def test_a_flood_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LARGEST_ANSWER", 1000)
    with pytest.raises(ModelFault, match="its answer has 10"):
        read(left(tmp_path, {"framework": "x" * 10_000}))


def test_a_machine_at_fault_is_tried_again(tmp_path: Path) -> None:
    with pytest.raises(Retryable, match="No space left"):
        read(left(tmp_path, {"fault": "machine", "message": "No space left on device"}))


def test_a_line_is_a_line() -> None:
    assert line("a\r\n b\x00\ud800") == r"a b\x00\xd800"
    assert len(line("x" * 10_000)) == 2000
