"""TFLite files that are broken, absurd, or call operators of TensorFlow that reach files. C++ reads them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=4 * 2**30)
Damage = Callable[[bytes], bytes]


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("tensorflow", "tensorflow")


def everywhere(old: int, new: int) -> Damage:
    """Every aligned number of 32 bits that is `old` becomes `new`: sizes, shapes and indices of a flatbuffer."""

    def change(content: bytes) -> bytes:
        numbers = bytearray(content)
        for at in range(8, len(numbers) - 3, 4):
            if struct.unpack_from("<I", numbers, at) == (old,):
                struct.pack_into("<I", numbers, at, new)
        return bytes(numbers)

    return change


def shaped(dimension: int) -> Damage:
    """Its shapes [1, 3] become [1, dimension]."""

    def change(content: bytes) -> bytes:
        shape = struct.pack("<3I", 2, 1, 3)
        assert shape in content
        return content.replace(shape, struct.pack("<3I", 2, 1, dimension))

    return change


READ = " cannot be read"
"""As TFLite, or at all: what lies beyond the end of the bytes decides which."""

BAD: dict[str, tuple[str, Damage, str]] = {
    "half of it": (
        "honest.tflite",
        lambda content: content[: len(content) // 2],
        "net.tflite cannot be read as TFLite: No subgraph in the model",
    ),
    "its name alone": (
        "honest.tflite",
        lambda content: content[:8],
        READ,
    ),
    "noise after its name": (
        "honest.tflite",
        lambda content: content[:8] + b"\xff" * 500,
        READ,
    ),
    "zeros after its name": (
        "honest.tflite",
        lambda content: content[:8] + bytes(500),
        READ,
    ),
    "a root far away": (
        "honest.tflite",
        lambda content: b"\xf0\xff\xff\x7f" + content[4:],
        "the model crashes what reads it (Segmentation fault), as broken files do",
    ),
    "a version of the future": (
        "honest.tflite",
        everywhere(3, 2**31 - 1),
        "net.tflite cannot be read as TFLite: Model provided is schema version 2147483647",
    ),
    "a dimension of 2**31 - 1": (
        "honest.tflite",
        shaped(2**31 - 1),
        "the model fails on its declared inputs (random, batch 1): ValueError: Cannot set tensor",
    ),
    "a negative dimension": (
        "honest.tflite",
        shaped(2**32 - 3),
        "net.tflite cannot be read as TFLite: tensorflow/lite/util.cc BytesRequired number of bytes overflowed",
    ),
    "a tensor that is not there": (
        "honest.tflite",
        everywhere(1, 10**6),
        "the model crashes what reads it (Segmentation fault), as broken files do",
    ),
    "an operator that writes": ("writes.tflite", bytes, "net.tflite cannot be read as TFLite: Select TensorFlow op(s)"),
    "an operator that saves": ("saves.tflite", bytes, "net.tflite cannot be read as TFLite: Select TensorFlow op(s)"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_tflite_file_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    name, damage, words = BAD[kind]
    (given / "net.tflite").write_bytes(damage((made / name).read_bytes()))
    assert words in await refusal("net.tflite", limits=LIMITS)
    assert not list(made.glob("HARM*"))
