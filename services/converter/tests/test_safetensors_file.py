"""The reader of safetensors, on bytes as the format has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.converter.workers import safetensors_file

NUMBERS = np.arange(6, dtype=np.float32)


def write(path: Path, header: object, numbers: bytes = NUMBERS.tobytes(), length: int | None = None) -> Path:
    text = json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + numbers)
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24], **changes}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    header = {"__metadata__": {"format": "pt"}, "w": entry(), "none": entry(shape=[0], data_offsets=[24, 24])}
    found = safetensors_file.read(str(write(tmp_path / "w.safetensors", header)))
    assert set(found) == {"w", "none"}
    dtype, shape, numbers = found["w"]
    assert (dtype, shape) == ("F32", [2, 3])
    assert np.array_equal(np.frombuffer(numbers, np.float32), NUMBERS)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([], "no object"),
        ({"w": []}, "does not describe 'w'"),
        ({"w": {"dtype": "F32"}}, "does not describe 'w': KeyError"),
        ({"w": entry(dtype="F4")}, "does not describe 'w': KeyError 'F4'"),
        ({"w": entry(shape=["a"])}, "no whole number"),
        ({"w": entry(shape="23")}, "no whole number"),
        ({"w": entry(shape=[-2, -3])}, "no whole number"),
        ({"w": entry(data_offsets=[-24, 0])}, "no whole number"),
        ({"w": entry(data_offsets=[8, 32])}, "does not fit into its place, 8 to 32"),
        ({"w": entry(shape=[2, 2])}, "does not fit into its place, 0 to 24"),
        ({"v": entry(), "w": entry()}, "two of its tensors overlap, or none lies there"),
        ({"w": entry(shape=[5], data_offsets=[4, 24])}, "at byte 0 two of its tensors overlap, or none lies there"),
        ({"w": entry(shape=[1], data_offsets=[0, 4])}, "20 bytes behind its last tensor belong to none"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, header: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        safetensors_file.read(str(write(tmp_path / "w.safetensors", header)))


@pytest.mark.parametrize("length", [2**40, 10**3])
def test_a_header_beyond_the_file_is_not_waited_for(tmp_path: Path, length: int) -> None:
    with pytest.raises(ValueError, match="does not fit into the file"):
        safetensors_file.read(str(write(tmp_path / "w.safetensors", {"w": entry()}, length=length)))


def test_a_header_that_is_no_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Unterminated string"):
        safetensors_file.read(str(write(tmp_path / "w.safetensors", {"w": entry()}, length=3)))
