"""Weights of PyTorch that mean harm or are broken: pickles and archives."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

MODEL = {"model": "models:Repeated", "inputs": [{"name": "x", "shape": ["batch", 3]}]}
LIMITS = Limits(seconds=60, memory=2 * 2**30)
Make = Callable[[str], bytes]


def text(words: str) -> bytes:
    """An opcode of pickle that pushes it; those of its first protocol are unknown to torch's reader."""
    return b"X" + struct.pack("<I", len(words)) + words.encode()


def number(value: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", value)


def calling(what: str, *arguments: bytes) -> bytes:
    """A pickle of a call; `arguments`: what pushes them."""
    return b"\x80\x02c" + what.replace(":", "\n").encode() + b"\n(" + b"".join(arguments) + b"tR."


def running(harm: str) -> bytes:
    return calling("posix:system", text(f"touch {harm}"))


def archive(pickled: bytes, **more: bytes) -> bytes:
    """What torch.save writes, around this pickle."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        for name, content in {"data.pkl": pickled, "version": b"3\n", "byteorder": b"little", **more}.items():
            made.writestr(f"net/{name}", content)
    return written.getvalue()


def tape(pickled: bytes) -> bytes:
    """What torch.save wrote before 0.4: a tar archive of pickles."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as made:
        for name in ("storages", "tensors", "pickle"):
            member = tarfile.TarInfo(name)
            member.size = len(pickled)
            made.addfile(member, io.BytesIO(pickled))
    return written.getvalue()


def tensor(size: int, offset: int = 0) -> bytes:
    """A state dict whose tensor says that it has `size` numbers, of a storage that has three."""
    storage = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(3) + b"tQ"
    place = storage + number(offset) + b"(" + number(size) + b"t(" + number(1) + b"t"
    rebuilt = b"ctorch._utils\n_rebuild_tensor_v2\n(" + place + b"\x89ccollections\nOrderedDict\n)RtR"
    return archive(b"\x80\x02}" + text("w") + rebuilt + b"s.", **{"data/0": bytes(12)})


def sized(content: bytes, size: int) -> bytes:
    """An archive that says of its first member that it unpacks to `size` bytes."""
    found = content.index(b"PK\x01\x02")
    return content[: found + 24] + struct.pack("<I", size) + content[found + 28 :]


PICKLES: dict[str, tuple[Make, str]] = {
    "a pickle that runs code": (
        running,
        "net.pt holds Python objects (posix.system), not only tensors: save model.state_dict()",
    ),
    "an archive that runs code": (
        lambda harm: archive(running(harm)),
        "net.pt holds Python objects (posix.system), not only tensors",
    ),
    "a tape that runs code": (
        lambda harm: tape(running(harm)),
        "net.pt cannot be read as PyTorch weights: Cannot use ``weights_only=True`` with files saved in the",
    ),
    "a call of eval": (
        lambda harm: archive(calling("builtins:eval", text(f"open({harm!r}, 'w')"))),
        "net.pt holds Python objects (eval), not only tensors",
    ),
    "a terabyte of bytes": (
        lambda harm: archive(calling("builtins:bytearray", number(2**40))),
        "the model needs more memory than a conversion may have",
    ),
    "a tensor beyond its storage": (lambda harm: tensor(2**40), "Trying to resize storage that is not resizable"),
    "a tensor before its storage": (lambda harm: tensor(3, -(2**20)), "invalid storage offset -1048576"),
    "a tensor of less than nothing": (lambda harm: tensor(-5), "integer multiplication overflow"),
    "a million lists in one another": (
        lambda harm: archive(b"\x80\x02" + b"]" * 10**6 + b"a" * (10**6 - 1) + b"."),
        "net.pt holds a list, a state dict is needed: save model.state_dict()",
    ),
    "half an archive": (lambda harm: tensor(3)[:200], "failed reading zip archive: failed finding central directory"),
    "an archive of four gigabytes": (lambda harm: sized(tensor(3), 2**32 - 2), "can't allocate memory"),
    "an encrypted archive": (
        lambda harm: tensor(3).replace(b"PK\x01\x02\x14\x03\x14\x00\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01\x00"),
        "unsupported encryption",
    ),
    "half a pickle": (
        lambda harm: archive(b"\x80\x02}X"),
        "net.pt cannot be read as PyTorch weights: unpack requires a buffer of 4 bytes",
    ),
    "noise": (lambda harm: bytes(range(256)) * 40, "net.pt cannot be read as PyTorch weights: Unsupported operand"),
    "nothing": (lambda harm: b"", "net.pt cannot be read as PyTorch weights: EOFError"),
    "a list": (lambda harm: archive(b"\x80\x02]."), "net.pt holds a list, a state dict is needed"),
}


@pytest.mark.parametrize("kind", PICKLES)
async def test_bad_weights_of_torch_are_refused(given: Path, refusal: Any, kind: str) -> None:
    make, words = PICKLES[kind]
    (given / "net.pt").write_bytes(make(str(given / "HARM")))
    assert words in await refusal("net.pt", limits=LIMITS, **MODEL)
