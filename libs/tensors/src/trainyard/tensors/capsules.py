"""DLPack capsules: memory, shape and type of a tensor under way, as the protocol lays them out (dlpack.h, DLManagedTensor).

Frameworks that have no name for bfloat16 or float8 give and take the same bits as integers; the type in the capsule is set to
what the other side has a name for. Legacy capsules are asked for, which every framework speaks; whether memory is read-only,
which only newer ones say, is known from its source.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TYPES: dict[str, tuple[int, int]] = {
    "bool": (6, 8), "int8": (0, 8), "int16": (0, 16), "int32": (0, 32), "int64": (0, 64), "uint8": (1, 8),
    "uint16": (1, 16), "uint32": (1, 32), "uint64": (1, 64), "float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32),
    "float64": (2, 64), "complex64": (5, 64), "complex128": (5, 128), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8),
}  # fmt: skip
"""Name → code and bits of DLDataType."""
CPU = (1, 0)

_get = ctypes.PyDLL(None).PyCapsule_GetPointer  # one of our own: others set the types of ctypes.pythonapi's too
_get.restype, _get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Carrier:
    """Offers a tensor to one consumer, which keeps its memory alive from there on."""

    make: Callable[[Any], Any]
    """A fresh legacy capsule, given the consumer's stream (None on a CPU)."""
    dtype: str
    """What the elements really are."""
    device: tuple[int, int] = CPU
    wire: str | None = None
    """The type that the consumer is to see, of the same size."""

    def __dlpack__(self, *, stream: Any = None, **_: object) -> Any:
        capsule = self.make(stream)
        tensor = described(capsule)
        tensor.code, tensor.bits = TYPES[self.wire or self.dtype]
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def seen_as(self, wire: str) -> Carrier:
        return Carrier(self.make, self.dtype, self.device, wire)


def of(tensor: Any, dtype: str) -> Carrier:
    """Of a tensor that speaks DLPack itself."""
    device = tensor.__dlpack_device__()
    return Carrier(
        lambda stream: tensor.__dlpack__() if stream is None else tensor.__dlpack__(stream=stream),
        dtype,
        (int(device[0]), int(device[1] or 0)),  # Paddle says None on a CPU
    )


def described(capsule: Any) -> _Tensor:
    """What a capsule says that nobody has taken; valid as long as the capsule."""
    return _Tensor.from_address(_get(capsule, b"dltensor"))


def pointer(capsule: Any) -> int:
    tensor = described(capsule)
    return int(tensor.data or 0) + int(tensor.byte_offset)


def strides(capsule: Any) -> tuple[int, ...] | None:
    """In elements; None: row-major."""
    tensor = described(capsule)
    return tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None
