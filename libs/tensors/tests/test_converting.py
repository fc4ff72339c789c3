"""NumPy and Arrow, which are everywhere: there and back, over the same memory or not."""

from __future__ import annotations

import gc
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trainyard.tensors import CannotShare, TensorError, convert_framework_tensor
from trainyard.tensors.bridges.numpy import empty

Point = namedtuple("Point", "x y")


def tensor(shape: tuple[int, ...] = (4, 3), dtype: str = "float32") -> Any:
    found = empty(shape, np.dtype(dtype))
    found[...] = np.arange(found.size).reshape(shape)
    return found


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 3, 4), (0, 3), (1, 1)])
def test_numbers_become_a_column_and_come_back_over_the_same_memory(shape: tuple[int, ...], dtype: str) -> None:
    array = tensor(shape, dtype)
    column, told = convert_framework_tensor(array, "arrow", explain=True)
    assert told.zero_copy
    assert told.bytes_moved == 0
    back, told = convert_framework_tensor(column, "numpy", explain=True)
    assert told.zero_copy
    assert str(told) == "arrow → numpy: shared (Arrow buffers)"
    assert np.array_equal(back, array)
    assert back.dtype == array.dtype
    assert not back.flags.writeable, "Arrow promises that its memory never changes"
    array[...] = 1
    assert np.array_equal(back, array), "it is the same memory"


def test_truth_values_are_packed_so_they_are_copied() -> None:
    array = tensor((3, 5), "int8").astype(bool)
    column, told = convert_framework_tensor(array, "arrow", explain=True)
    assert told.reasons == ("Arrow packs eight truth values into a byte",)
    assert np.array_equal(convert_framework_tensor(column, "numpy"), array)
    with pytest.raises(CannotShare, match=r"arrow's bool .* without a copy: Arrow packs"):
        convert_framework_tensor(column, "numpy", copy=False)


def test_the_memory_lives_as_long_as_what_uses_it() -> None:
    column = convert_framework_tensor(tensor((1000, 1000)), "arrow")
    back = convert_framework_tensor(column, "numpy")
    del column
    gc.collect()
    tensor((1000, 1000))[...] = -1
    assert back[999, 999] == 999_999


def test_copies() -> None:
    array = tensor()
    copied, told = convert_framework_tensor(array, "numpy", copy=True, explain=True)
    assert told.reasons == ("copy=True asks for one",)
    assert told.bytes_moved == array.nbytes
    assert copied.ctypes.data % 64 == 0
    array[...] = 0
    assert copied[3, 2] == 11
    assert convert_framework_tensor(array, "numpy") is array
    half, told = convert_framework_tensor(tensor(), "arrow", dtype="float16", explain=True)
    assert half.type.value_type == pa.float16()
    assert told.reasons == ("float32 has to become float16",)
    assert told.bytes_moved == 24
    with pytest.raises(CannotShare, match="float32 has to become int8"):
        convert_framework_tensor(array, "numpy", dtype="int8", copy=False)


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[::-1], np.s_[:, 1:], np.s_[:, ::-1]])
def test_other_orders_and_gaps_arrive_in_rows(view: Any) -> None:
    array = tensor((6, 4))[view]
    column, told = convert_framework_tensor(array, "arrow", explain=True)
    assert not told.zero_copy
    assert np.array_equal(convert_framework_tensor(column, "numpy"), array)


def test_a_frozen_array_stays_frozen() -> None:
    array = tensor()
    array.flags.writeable = False
    back = convert_framework_tensor(convert_framework_tensor(array, "arrow", copy=False), "numpy")
    with pytest.raises(ValueError, match="read-only"):
        back[0] = 1


def test_a_mapped_file_is_read_where_it_lies(tmp_path: Path) -> None:
    table = pa.table({"x": convert_framework_tensor(tensor((100, 8)), "arrow")})
    with pa.ipc.new_file(str(tmp_path / "x.arrow"), table.schema) as writer:
        writer.write_table(table)
    mapped = pa.ipc.open_file(pa.memory_map(str(tmp_path / "x.arrow"))).read_all()
    array, told = convert_framework_tensor(mapped["x"], "numpy", copy=False, explain=True)
    assert told.zero_copy
    assert np.array_equal(array, tensor((100, 8)))


def test_tensors_of_arrow_and_columns_in_pieces() -> None:
    array = tensor()
    assert np.array_equal(convert_framework_tensor(pa.Tensor.from_numpy(array), "numpy", copy=False), array)
    pieces = pa.chunked_array([pa.array([1.0, 2.0]), pa.array([3.0])])
    found, told = convert_framework_tensor(pieces, "numpy", explain=True)
    assert told.reasons == ("it lies in 2 pieces",)
    assert found.tolist() == [1, 2, 3]
    sliced = pa.array(range(10)).slice(3, 4)
    assert convert_framework_tensor(sliced, "numpy", copy=False).tolist() == [3, 4, 5, 6]
    lists = pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2))
    assert convert_framework_tensor(lists, "numpy", copy=False).tolist() == [[1, 2], [3, 4]]


@dataclass(frozen=True)
class Batch:
    pixels: Any
    name: str = "a"


def test_trees_come_back_as_they_are() -> None:
    tree = {
        "a": [tensor(), None],
        "b": Point(tensor((2,)), "word"),
        "c": Batch(tensor()),
        "d": OrderedDict(e=(tensor(),)),
    }
    found, told = convert_framework_tensor(tree, "arrow", explain=True)
    assert isinstance(found["a"][0], pa.FixedShapeTensorArray)
    assert found["a"][1] is None
    assert isinstance(found["b"], Point)
    assert found["b"].y == "word"
    assert found["c"].name == "a"
    assert isinstance(found["d"], OrderedDict)
    assert told["c"].pixels.zero_copy
    assert told["a"][1] is None
    back = convert_framework_tensor(found, "numpy")
    assert np.array_equal(back["d"]["e"][0], tensor())


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ("text", "str is no tensor, and there is none in it"),
        ([], "list is no tensor"),
        (np.array(["a"]), "numpy's <U1 is no number that frameworks know"),
        (np.array([object()]), "numpy's object"),
        (np.ones(3, ">f4"), "has its bytes in the other order"),
        (np.zeros(3, [("a", "f4"), ("b", "i1")])["a"], "are no whole elements"),
        (np.ma.masked_array([1, 2], [True, False]), "a masked array has values that are missing"),
        (pa.array([1, None]), r"1 of 2 values are missing, which no tensor can say: x.fill_null\(0\)"),
        (pa.array(["a"]), "Arrow's string is no number"),
        (pa.array([[1], [1, 2]]), "numpy has no ragged tensors that others give"),
        (pa.scalar(1), "an Arrow scalar has no memory"),
        (np.float32(1), "a single value is no column"),
        (np.ones(3, np.complex64), "complex64 is nothing that arrow takes"),
        (np.ones((3, 0)), "holds nothing"),
    ],
)
def test_what_cannot_cross_is_said(x: Any, words: str) -> None:
    with pytest.raises(TensorError, match=words):
        convert_framework_tensor(x, "numpy" if isinstance(x, pa.Array | pa.Scalar) else "arrow")


def test_a_framework_that_is_not_known_or_not_here() -> None:
    with pytest.raises(TensorError, match="'caffe' is no framework that tensors go to: numpy, arrow"):
        convert_framework_tensor(tensor(), "caffe")  # type: ignore[arg-type]
    with pytest.raises(TensorError, match=r"jax is not installed here: No module named 'jax'"):
        convert_framework_tensor(tensor(), "jax")
