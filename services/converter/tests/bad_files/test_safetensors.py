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


def safetensors(header: object, data: bytes = bytes(12), length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def weight(dtype: str = "F32", shape: tuple[int, ...] = (3,), begin: int = 0, end: int = 12) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


TENSORS: dict[str, tuple[bytes, str]] = {
    "a header of 2**60 bytes": (safetensors({}, length=2**60), "its header does not fit into the file"),
    "a header beyond the end": (safetensors({}, length=5000), "its header does not fit into the file"),
    "a header that is no JSON": (safetensors(b"{" * 100), "Expecting property name"),
    "a header 100,000 levels deep": (
        safetensors(b'{"w":' * 100_000 + b"}" * 100_000),
        "its header is nested too deeply",
    ),
    "overlapping weights": (safetensors({"v": weight(), "w": weight()}), "two of its tensors overlap"),
    "weights beyond the end": (
        safetensors({"w": weight(shape=(300,), end=1200)}),
        "'w' does not fit into its place, 0 to 1200 of 12 bytes",
    ),
    "a gap between weights": (safetensors({"w": weight(begin=4, end=16)}, bytes(16)), "or none lies there"),
    "a kind that nobody knows": (safetensors({"w": weight("X99")}), "does not describe 'w': KeyError 'X99'"),
    "a shape that does not fit": (safetensors({"w": weight(shape=(2**40,))}), "'w' does not fit into its place"),
    "dimensions whose product wraps": (
        safetensors({"w": weight(shape=(2**32, 2**32, 3))}),
        "'w' does not fit into its place",
    ),
    "a negative dimension": (
        safetensors({"w": weight(shape=(-3,))}),
        "'w' has a shape or a place that is no whole number",
    ),
    "a pickle": (b"cposix\nsystem\n(S'false'\ntR.", "its header does not fit into the file"),
    "no bytes": (b"", "its header does not fit into the file"),
}


@pytest.mark.parametrize("kind", TENSORS)
async def test_bad_safetensors_are_refused(given: Path, refusal: Any, kind: str) -> None:
    content, words = TENSORS[kind]
    (given / "net.safetensors").write_bytes(content)
    assert words in await refusal("net.safetensors", limits=LIMITS, **MODEL)
