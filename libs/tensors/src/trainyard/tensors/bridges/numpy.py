"""NumPy, and whatever has an array interface. bfloat16 and float8 are those of ml_dtypes, where it is installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt

from trainyard.tensors import capsules
from trainyard.tensors.capsules import Carrier
from trainyard.tensors.dtypes import BITS, FLOAT8, PLAIN, SIZES, name_of
from trainyard.tensors.errors import TensorError
from trainyard.tensors.facts import ALIGNMENT, Facts
from trainyard.tensors.planning import Traits

Array = npt.NDArray[Any]
_NATIVE = PLAIN - {"bool"}
"""What it exchanges under its own name; older NumPy has no bool in DLPack."""
_HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None
_TRAITS = Traits(
    "numpy",
    PLAIN,
    frozenset({"bfloat16", *FLOAT8}) if _HAS_ML_DTYPES else frozenset(),
    backwards=True,
    heeds_read_only=True,
)


def traits() -> Traits:
    return _TRAITS


def owns(kind: type) -> bool:
    return issubclass(kind, np.ndarray | np.generic)


def facts(x: Any) -> Facts:
    if isinstance(x, np.ma.MaskedArray):
        raise TensorError("a masked array has values that are missing: fill them (x.filled(0))")
    array = np.asarray(x)
    if array.dtype.kind not in "biufcV" or array.dtype.fields:
        raise TensorError(f"numpy's {array.dtype} is no number that frameworks know")
    if not array.dtype.isnative:
        raise TensorError(f"{array.dtype} has its bytes in the other order: x.astype(x.dtype.newbyteorder('='))")
    flags = array.flags
    strides = None if flags.c_contiguous else _in_elements(array)
    return Facts("numpy", name_of(array.dtype), array.shape, strides, array.ctypes.data, read_only=not flags.writeable)


def _in_elements(array: Array) -> tuple[int, ...]:
    size = array.dtype.itemsize
    if any(stride % size for stride, dim in zip(array.strides, array.shape, strict=True) if dim > 1):
        raise TensorError(f"its strides of {list(array.strides)} bytes are no whole elements: np.ascontiguousarray(x)")
    return tuple(stride // size for stride in array.strides)


def give(x: Any) -> Carrier:
    array = np.asarray(x)
    dtype = name_of(array.dtype)
    if dtype not in _NATIVE:
        array = array.view(BITS[array.dtype.itemsize])
    if not array.flags.writeable:
        array = np.asarray(_Alias(array))
    return capsules.of(array, dtype)


class _Alias:
    """The same memory without the flag that legacy DLPack cannot say; who takes it was told (`Facts.read_only`)."""

    def __init__(self, array: Array) -> None:
        self._array = array  # numpy keeps this object as long as the memory is used
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def take(carrier: Carrier, facts: Facts) -> Array:
    plain = carrier.dtype in _NATIVE
    found = np.from_dlpack(carrier if plain else carrier.seen_as(BITS[SIZES[carrier.dtype]]))
    if facts.read_only or facts.immutable:
        found.flags.writeable = False
    elif not found.flags.writeable:
        found = np.asarray(_Alias(found))
    return found if plain else found.view(dtype_of(carrier.dtype))


def pointer(x: Any) -> int:
    return int(x.ctypes.data)


def copy(x: Any, dtype: str) -> Array:
    array = np.asarray(x)
    found = empty(array.shape, dtype_of(dtype))
    np.copyto(found, array, casting="unsafe")
    return found


def cast(x: Array, dtype: str) -> Array:
    return x.astype(dtype_of(dtype))


def move(x: Array, device: str) -> Array:
    return x


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """At a multiple of 64 bytes, which numpy's own memory seldom is."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    room = np.empty(size + ALIGNMENT, np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return room[start : start + size].view(dtype).reshape(shape)


def dtype_of(name: str) -> np.dtype[Any]:
    if name in PLAIN:
        return np.dtype(name)
    try:
        import ml_dtypes  # noqa: PLC0415 - for these types alone
    except ImportError:
        raise TensorError(f"numpy has no {name}: pip install ml_dtypes, or ask for dtype='float32'") from None
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found
