"""Tensors in files: there and back, where their memory lies, and what a format has no form for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trainyard.tensors import TensorError
from trainyard.tensors.aligning import AlignedWriter
from trainyard.tensors.bridges import arrow
from trainyard.tensors.files import load, save

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("rows", [1, 511, 512, 5000])
def test_columns_of_an_arrow_file_are_mapped_at_64_bytes(tmp_path: Path, rows: int) -> None:
    tensors = {
        "pixels": RANDOM.random((rows, 3, 5), np.float32), "label": RANDOM.integers(0, 9, rows).astype(np.int8),
        "weight": RANDOM.random(rows),
    }  # fmt: skip
    file = tmp_path / "batch.arrow"
    save(file, tensors)
    found = load(file)
    assert {name: array.tolist() for name, array in found.items()} == {n: a.tolist() for n, a in tensors.items()}
    table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
    whole = [table[name].chunk(0) for name in tensors if rows >= 512]
    assert [arrow.pointer(column) % 64 for column in [table["pixels"].chunk(0), *whole]] == [0] * (1 + len(whole))
    assert sorted(tmp_path.iterdir()) == [file]


def test_every_batch_begins_at_64_bytes(tmp_path: Path) -> None:
    """Whatever the names, the types, missing values and the rows before."""
    for width in range(1, 12):
        schema = pa.schema([("x" * width, pa.float64()), ("y", pa.string())], {"of": "b" * width})
        path = str(tmp_path / f"{width}.arrow")
        batches = [
            pa.record_batch([RANDOM.random(rows), [text] * rows], schema=schema)
            for rows, text in ((512, "a"), (3, None), (700, "abc"), (512, "b"))
        ]
        with AlignedWriter(path, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        table = pa.ipc.open_file(pa.memory_map(path)).read_all()
        assert table.equals(pa.Table.from_batches(batches))
        assert [arrow.pointer(chunk) % 64 for chunk in table.column(0).chunks] == [0, 0, 0, 0]


def test_one_array(tmp_path: Path) -> None:
    array = RANDOM.random((7, 3))
    save(tmp_path / "x.npy", {"anything": array})
    (found,) = load(tmp_path / "x.npy").values()
    assert np.array_equal(found, array)
    assert found.ctypes.data % 64 == 0
    assert not found.flags.writeable
    (column,) = load(tmp_path / "x.npy", to="arrow", copy=False).values()
    assert arrow.pointer(column) % 64 == 0


@pytest.mark.parametrize(
    ("name", "tensors", "words"),
    [
        ("a.npy", {"x": np.ones(1), "y": np.ones(1)}, r"\.npy holds one tensor, these are 2"),
        ("a.arrow", {"x": np.ones(1), "y": np.ones(2)}, r"equally many rows, these have x 1, y 2: \.safetensors takes"),
        ("a.pt", {"x": np.ones(1)}, r"a\.pt ends in nothing that tensors are kept in: \.npy, \.arrow, \.safetensors"),
    ],
)
def test_what_a_format_has_no_form_for(tmp_path: Path, name: str, tensors: Any, words: str) -> None:
    with pytest.raises(TensorError, match=words):
        save(tmp_path / name, tensors)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.npy", "a.arrow"])
def test_what_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(TensorError, match=rf"{name} cannot be read: .*No such file"):
        load(tmp_path / name)
    (tmp_path / name).write_bytes(b"nonsense")
    with pytest.raises(TensorError, match=rf"{name} cannot be read"):
        load(tmp_path / name)
