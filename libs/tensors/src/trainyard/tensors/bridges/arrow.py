"""Apache Arrow: a column of numbers, a column of tensors (arrow.fixed_shape_tensor), or a pyarrow.Tensor.

What comes here becomes a column: rows along the first dimension. Arrow promises that its memory never changes; a buffer that
says it may not be written is treated as a map of a file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from trainyard.tensors.bridges import numpy as host
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import PLAIN, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import Facts
from trainyard.tensors.planning import Traits

_TYPES = PLAIN - {"complex64", "complex128"}
_TRAITS = Traits("arrow", _TYPES, strided=False, writable=False, packs_bool=True, protocol="Arrow buffers")


def traits() -> Traits:
    return _TRAITS


def owns(kind: type) -> bool:
    return issubclass(kind, pa.Array | pa.ChunkedArray | pa.Tensor | pa.Scalar)


def facts(x: Any) -> Facts:
    if isinstance(x, pa.Tensor):
        return _of_tensor(x)
    column, split = _one(x)
    kind, shape, values = _inside(column)
    if values.null_count:
        raise TensorError(
            f"{values.null_count} of {len(values)} values are missing, which no tensor can say: x.fill_null(0)"
        )
    if pa.types.is_boolean(kind):
        return Facts("arrow", "bool", shape, None, 0, immutable=True, packed=True)
    pending = f"it lies in {split} pieces" if split > 1 else ""
    buffer = values.buffers()[1]
    start = values.offset * kind.bit_width // 8
    pointer = buffer.address + start if buffer is not None else 0
    read_only = buffer is not None and not buffer.is_mutable
    return Facts("arrow", _name(kind), shape, None, pointer, immutable=True, read_only=read_only, pending=pending)


def _of_tensor(x: pa.Tensor) -> Facts:
    array = x.to_numpy()
    strides = tuple(stride // array.itemsize for stride in x.strides)
    pointer, read_only = array.ctypes.data, not x.is_mutable
    return Facts("arrow", name_of(array.dtype), tuple(x.shape), strides, pointer, immutable=True, read_only=read_only)


def _name(kind: pa.DataType) -> str:
    try:
        return name_of({"halffloat": "float16", "float": "float32", "double": "float64"}.get(str(kind), str(kind)))
    except TensorError:
        raise TensorError(f"Arrow's {kind} is no number that frameworks know") from None


def _one(x: Any) -> tuple[pa.Array, int]:
    """The column as one array, and in how many pieces it was."""
    if isinstance(x, pa.Scalar):
        raise TensorError("an Arrow scalar has no memory of its own: x.as_py() is its value")
    if not isinstance(x, pa.ChunkedArray):
        return x, 1
    if x.num_chunks == 1:
        return x.chunk(0), 1
    return pa.concat_arrays(list(x.chunks)) if x.num_chunks else pa.array([], x.type), x.num_chunks


def _inside(column: pa.Array) -> tuple[pa.DataType, tuple[int, ...], pa.Array]:
    """(type of a number, shape, the numbers)."""
    shape: tuple[int, ...] = (len(column),)
    kind = column.type
    while True:
        if isinstance(kind, pa.FixedShapeTensorType):
            if kind.permutation not in (None, list(range(len(kind.shape)))):
                raise TensorError(
                    f"its dimensions are stored in the order {kind.permutation}: x.to_numpy_ndarray() first"
                )
            if column.null_count:
                raise TensorError(f"{column.null_count} of its tensors are missing: x.drop_null()")
            shape, column = (*shape, *kind.shape), column.storage.flatten()
        elif isinstance(kind, pa.BaseExtensionType):
            column = column.storage
        elif pa.types.is_fixed_size_list(kind):
            if column.null_count:
                raise TensorError(f"{column.null_count} of its lists are missing: x.drop_null()")
            shape, column = (*shape, kind.list_size), column.flatten()
        else:
            break
        kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        raise TensorError("its rows have different lengths: take x.flatten() and x.offsets apart, or pad them")
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TensorError(f"Arrow's {kind} is no number that frameworks know")
    return kind, shape, column


def give(x: Any) -> Carrier:
    return host.give(_numpy(x))


def _numpy(x: Any) -> host.Array:
    if isinstance(x, pa.Tensor):
        return np.asarray(x.to_numpy())
    _, shape, values = _inside(_one(x)[0])
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(shape)


def take(carrier: Carrier, facts: Facts) -> pa.Array:
    array = host.take(carrier, facts)
    if not array.ndim:
        raise TensorError("a single value is no column: x.reshape(1)")
    if array.dtype == bool:
        flat = pa.array(array.reshape(-1))
    else:
        flat = pa.Array.from_buffers(
            pa.from_numpy_dtype(array.dtype), array.size, [None, pa.py_buffer(array.reshape(-1))]
        )
    if array.ndim == 1:
        return flat
    size = math.prod(array.shape[1:])
    if not size:
        raise TensorError(f"a row of shape {list(array.shape[1:])} holds nothing, which no column can say")
    storage = pa.FixedSizeListArray.from_arrays(flat, size)
    return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(flat.type, array.shape[1:]), storage)


def pointer(x: Any) -> int:
    return facts(x).pointer


def copy(x: Any, dtype: str) -> Any:
    """A NumPy array: what is copied out of Arrow goes on from there."""
    return host.copy(_numpy(x), dtype)


def cast(x: Any, dtype: str) -> Any:
    return take(host.give(host.copy(_numpy(x), dtype)), facts(x))


def move(x: Any, device: str) -> Any:
    return x
