"""The protocol's datatypes as numpy's, and tensors as the raw bytes that both front ends carry.

Source: KServe's Open Inference Protocol v2 and Triton's extensions: little-endian numbers in row-major order; a string is its
length as 32 bits and then its bytes. BF16 is left out, since neither numpy nor onnxruntime's Python interface has it.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array

BYTES = "BYTES"
DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "INT8": "int8",
        "INT16": "int16", "INT32": "int32", "INT64": "int64", "FP16": "float16", "FP32": "float32", "FP64": "float64",
        BYTES: "object",
    }.items()
}  # fmt: skip
"""BYTES as objects that are `str`, as onnxruntime has them."""
NAMES = {dtype: name for name, dtype in DTYPES.items()}
MAX_ELEMENTS = 2**28
MAX_RANK = 16
_LENGTH = struct.Struct("<I")


def name_of(array: Array) -> str:
    """Raises InvalidInput for what the protocol has no name for."""
    found = NAMES.get(array.dtype)
    if found is None:
        raise InvalidInput.one(f"the protocol has no datatype for {array.dtype}")
    return found


def dtype_of(name: str, datatype: Any) -> np.dtype[Any]:
    """Of the input `name`."""
    if not isinstance(datatype, str) or datatype not in DTYPES:
        raise InvalidInput.one(f"input {name!r} has datatype {datatype!r}, served are {', '.join(DTYPES)}")
    return DTYPES[datatype]


def shape_of(name: str, shape: Any) -> tuple[int, ...]:
    """Of the input `name`; bounded, since memory is taken for it."""
    if (
        not isinstance(shape, list)
        or len(shape) > MAX_RANK
        or not all(is_whole(dim) for dim in shape)
        or math.prod(shape) > MAX_ELEMENTS
    ):
        raise InvalidInput.one(f"input {name!r} has no usable shape: {str(shape)[:80]}")
    return tuple(shape)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def from_raw(name: str, dtype: np.dtype[Any], shape: tuple[int, ...], raw: bytes | memoryview) -> Array:
    """The tensor `name`. Raises InvalidInput where the bytes do not fit its shape."""
    if dtype.kind == "O":
        return texts(name, shape, _split(name, raw))
    wanted = math.prod(shape) * dtype.itemsize
    if len(raw) != wanted:
        raise InvalidInput.one(f"input {name!r} has {len(raw)} bytes, its shape and datatype need {wanted}")
    return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)


def to_raw(array: Array) -> bytes:
    if array.dtype.kind != "O":
        return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    encoded = [str(text).encode() for text in array.ravel()]
    return b"".join(_LENGTH.pack(len(text)) + text for text in encoded)


def texts(name: str, shape: tuple[int, ...], values: list[bytes]) -> Array:
    """Strings as onnxruntime takes them: it reads UTF-8."""
    if len(values) != math.prod(shape):
        raise InvalidInput.one(f"input {name!r} has {len(values)} strings, its shape needs {math.prod(shape)}")
    found = np.empty(len(values), object)
    try:
        found[:] = [value.decode() for value in values]
    except UnicodeDecodeError as error:
        raise InvalidInput.one(f"a string of input {name!r} is not UTF-8: {error.reason}") from error
    return found.reshape(shape)


def _split(name: str, raw: bytes | memoryview) -> list[bytes]:
    found, offset = [], 0
    while offset < len(raw):
        start = offset + _LENGTH.size
        end = start + _LENGTH.unpack_from(raw, offset)[0] if start <= len(raw) else start
        if end > len(raw):
            raise InvalidInput.one(
                f"the last string of input {name!r} is cut off: BYTES has 4 bytes of length before each"
            )
        found.append(bytes(raw[start:end]))
        offset = end
    return found
