"""Parameters of JAX and Flax that mean harm or are broken."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(600)]

LIMITS = Limits(seconds=60, memory=2 * 2**30)
NET = {"model": "jax_nets:Net", "inputs": [{"name": "x", "shape": ["batch", 5]}]}
BARE = {**NET, "model": "jax_nets:bare"}
Make = Callable[[Path], bytes]


def running(harm: Path) -> bytes:
    """A pickle that runs `touch`."""
    return f"cposix\nsystem\n(S'touch {harm}'\ntR.".encode()


def array(shape: str, kind: str, data: bytes) -> bytes:
    """An .npz whose one array has this header."""
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("layer/w.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)
    return written.getvalue()


def extension(code: int, content: bytes) -> bytes:
    """A map {"w": …} of msgpack whose value is one of Flax's own kinds."""
    return b"\x81\xa1w\xc9" + struct.pack(">IB", len(content), code) + content


def stored(shape: bytes, kind: str, data: bytes) -> bytes:
    """An array as Flax packs it: shape, dtype, bytes."""
    return b"\x93" + shape + bytes([0xA0 | len(kind)]) + kind.encode() + b"\xc4" + bytes([len(data)]) + data


BAD: dict[str, tuple[str, dict[str, Any], Make, str]] = {
    "pickles in an array": (
        "net.npz",
        BARE,
        lambda harm: array("(1,)", "'|O'", running(harm)),
        "net.npz cannot be read as parameters: Object arrays cannot be loaded",
    ),
    "a pickle": (
        "net.npz",
        BARE,
        running,
        "net.npz cannot be read as parameters: This file contains pickled (object) data",
    ),
    "terabytes": (
        "net.npz",
        BARE,
        lambda harm: array(
            "(1099511627776,)", "'<f4'", b"net.npz cannot be read as parameters: Unable to allocate 4.00 TiB"
        ),
        "",
    ),
    "half an archive": (
        "net.npz",
        BARE,
        lambda harm: array("(5, 2)", "'<f4'", bytes(40))[:90],
        "net.npz cannot be read as parameters: File is not a zip file",
    ),
    "no such names": (
        "net.npz",
        BARE,
        lambda harm: array("(5, 2)", "'<f4'", bytes(40)),
        "the model fails on its declared inputs (random, batch 1): KeyError: 'b' (jax_nets.py:14)",
    ),
    "a pickle for msgpack": (
        "net.msgpack",
        NET,
        running,
        "net.msgpack cannot be read as parameters: unpack(b) received extra data",
    ),
    "nothing": (
        "net.msgpack",
        NET,
        lambda harm: b"net.msgpack cannot be read as parameters: Unpack failed: incomplete input",
        "",
    ),
    "a map of four billion": (
        "net.msgpack",
        NET,
        lambda harm: b"\xdf\xff\xff\xff\xff",
        "net.msgpack cannot be read as parameters: 4294967295 exceeds max_map_len",
    ),
    "bytes of 4 GiB": (
        "net.msgpack",
        NET,
        lambda harm: b"\xc6\xff\xff\xff\xff",
        "net.msgpack cannot be read as parameters: Unpack failed: incomplete input",
    ),
    "100,000 lists in one another": (
        "net.msgpack",
        NET,
        lambda harm: b"\x91" * 100_000,
        "net.msgpack cannot be read as parameters: StackError",
    ),
    "pointers": (
        "net.msgpack",
        NET,
        lambda harm: extension(1, stored(b"\x91\x01", "object", b"A" * 8)),
        "cannot create an OBJECT array from memory buffer",
    ),
    "a number that is a pointer": (
        "net.msgpack",
        NET,
        lambda harm: extension(3, stored(b"\x90", "object", b"A" * 8)),
        "cannot create an OBJECT array from memory buffer",
    ),
    "an array larger than its bytes": (
        "net.msgpack",
        NET,
        lambda harm: extension(1, stored(b"\x91\xcf" + (2**60).to_bytes(8, "big"), "float32", bytes(8))),
        "cannot reshape array of size 2 into shape (1152921504606846976,)",
    ),
    "an array of less than nothing": (
        "net.msgpack",
        NET,
        lambda harm: extension(1, stored(b"\x91\xff", "float32", bytes(8))),
        "The first argument passed to an apply function should be a dictionary of collections",
    ),
    "a kind that nobody knows": (
        "net.msgpack",
        NET,
        lambda harm: extension(77, b"x" * 9),
        "The first argument passed to an apply function should be a dictionary of collections",
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_bad_parameters_of_jax_are_refused(given: Path, refusal: Any, kind: str) -> None:
    name, block, make, words = BAD[kind]
    (given / name).write_bytes(make(given / "HARM"))
    assert words in await refusal(name, limits=LIMITS, **block)
