"""Weights in safetensors that mean harm or are broken: what a header says has to hold of the file."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(200)]

MODEL = {"model": "models:Repeated", "inputs": [{"name": "x", "shape": ["batch", 3]}]}
LIMITS = Limits(seconds=60, memory=2 * 2**30)


@pytest.fixture
def torch_python(onnx_to_torch_python: Path) -> Path:
    """Of an environment that has safetensors."""
    return onnx_to_torch_python


def safetensors(header: object, data: bytes = bytes(12), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def weight(dtype: str = "F32", shape: tuple[int, ...] = (3,), begin: int = 0, end: int = 12) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


TENSORS: dict[str, tuple[bytes, str]] = {
    "a header of 2**60 bytes": (safetensors({}, length=2**60), "header too large"),
    "a header beyond the end": (safetensors({}, length=5000), "invalid header length"),
    "a header that is no JSON": (safetensors(b"{" * 100), "invalid JSON in header"),
    "a header 100,000 levels deep": (safetensors(b'{"w":' * 100_000 + b"}" * 100_000), "recursion limit exceeded"),
    "overlapping weights": (safetensors({"v": weight(), "w": weight()}), "invalid offset for tensor"),
    "weights beyond the end": (
        safetensors({"w": weight(shape=(300,), end=1200)}),
        "incomplete metadata, file not fully covered",
    ),
    "a gap between weights": (safetensors({"w": weight(begin=4, end=16)}, bytes(16)), "invalid offset for tensor `w`"),
    "a kind that nobody knows": (safetensors({"w": weight("X99")}), "unknown variant `X99`"),
    "a shape that does not fit": (safetensors({"w": weight(shape=(2**40,))}), "invalid shape, data type, or offset"),
    "dimensions whose product wraps": (
        safetensors({"w": weight(shape=(2**32, 2**32, 3))}),
        "overflow computing buffer size",
    ),
    "a negative dimension": (safetensors({"w": weight(shape=(-3,))}), "invalid value: integer `-3`"),
    "a pickle": (b"cposix\nsystem\n(S'false'\ntR.", "header too large"),
    "no bytes": (b"", "header too small"),
}


@pytest.mark.parametrize("kind", TENSORS)
async def test_bad_safetensors_are_refused(given: Path, refusal: Any, kind: str) -> None:
    content, words = TENSORS[kind]
    (given / "net.safetensors").write_bytes(content)
    assert words in await refusal("net.safetensors", limits=LIMITS, **MODEL)
