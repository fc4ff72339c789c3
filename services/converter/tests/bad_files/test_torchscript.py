"""TorchScript archives that mean harm. Their code is looked through before it is loaded, and run within limits."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.adapters.sandbox import Limits

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

INPUT = [{"name": "x", "shape": ["batch", 3]}]
LIMITS = Limits(seconds=60, memory=2**30)


@pytest.fixture
def made(make_files: Callable[..., Path]) -> Path:
    return make_files("torchscript")


def again(archive: Path, renamed: Callable[[str], str] = str, code: bytes | None = None) -> bytes:
    """The archive with other names, or other code in it."""
    written = io.BytesIO()
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
        for name in old.namelist():
            content = code if code is not None and name.endswith("__torch__.py") else old.read(name)
            new.writestr(renamed(name), content)
    return written.getvalue()


def shouted(folder: Path) -> bytes:
    """Its code lies in a folder CODE, which torch finds all the same, and a harmless file in code."""
    written = io.BytesIO(again(folder / "Writes.pt", lambda name: name.replace("/code/", "/CODE/")))
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("Writes/code/nothing.py", "x = 1")
    return written.getvalue()


def two_faced(folder: Path) -> bytes:
    """A zip with two directories: one where the end says that it is, for torch, and one right before the end, for Python."""
    writes, computes = again(folder / "Writes.pt"), again(folder / "Computes.pt")
    body, inner = (content[: content.index(b"PK\x05\x06")] for content in (writes, computes))
    evil, own = body.index(b"PK\x01\x02"), inner.index(b"PK\x01\x02")
    entries, directory, at = writes[len(body) + 10 :][:2], bytearray(inner[own:]), 0
    while at < len(directory):  # where Python looks for a member is shifted by what it takes for a prefix
        (offset,) = struct.unpack_from("<I", directory, at + 42)
        struct.pack_into("<I", directory, at + 42, offset + evil - own)
        at += 46 + sum(struct.unpack_from("<HHH", directory, at + 28))
    end = b"PK\x05\x06" + bytes(4) + entries * 2 + struct.pack("<IIH", len(directory), evil, 0)
    return body + inner[:own] + bytes(directory) + end


def before_1_4(folder: Path) -> bytes:
    written = io.BytesIO((folder / "Computes.pt").read_bytes())
    with zipfile.ZipFile(written, "a") as archive:
        archive.writestr("Computes/model.json", "{}")
    return written.getvalue()


def computing(folder: Path, words: str) -> bytes:
    """What the model computes, in other words."""
    code = (zipfile.ZipFile(folder / "Computes.pt").read("Computes/code/__torch__.py")).decode()
    return again(folder / "Computes.pt", code=code.replace("torch.mul(x, 2)", words).encode())


def deep(folder: Path) -> bytes:
    return computing(folder, "(" * 10**6 + "x" + ")" * 10**6)


BAD: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "reads a file": (lambda folder: (folder / "Reads.pt").read_bytes(), "may reach files ('from_file' in code/"),
    "writes a file": (lambda folder: (folder / "Writes.pt").read_bytes(), "may reach files ('save' in code/"),
    "writes a file when it is loaded": (
        lambda folder: (folder / "WritesWhenLoaded.pt").read_bytes(),
        "may reach files ('save' in code/",
    ),
    "a name that is asked for": (
        lambda folder: computing(folder, 'getattr(torch, "from_file")("/etc/hostname", False, 1)'),
        "may reach files ('from_file' in code/",
    ),
    "a name that is disguised": (
        lambda folder: computing(folder, 'getattr(torch, "fr\\x6fm_file")("/etc/hostname", False, 1)'),
        "may reach files ('getattr' in code/",
    ),
    "a name that is made up": (
        lambda folder: computing(folder, 'getattr(getattr(self, "0"), name)(x)'),
        "may reach files ('getattr' in code/",
    ),
    "code in a folder of capitals": (shouted, "may reach files ('save' in CODE/"),
    "two directories": (two_faced, "may reach files ('save' in code/"),
    "of an old kind whose code lies anywhere": (before_1_4, "was written before PyTorch 1.4"),
    "half an archive": (lambda folder: (folder / "Computes.pt").read_bytes()[:900], "cannot be read as TorchScript"),
    "code that is no code": (
        lambda folder: again(folder / "Computes.pt", code=b"\0\xff" * 50),
        "cannot be read as TorchScript",
    ),
    "code of half a gigabyte": (
        lambda folder: again(folder / "Computes.pt", code=bytes(2**29)),
        "Could not allocate bytes object",
    ),
    "a million brackets": (deep, "the model crashes what reads it (Segmentation fault)"),
    "terabytes": (lambda folder: (folder / "Huge.pt").read_bytes(), "can't allocate memory"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_torchscript_archive_is_refused(given: Path, made: Path, refusal: Any, kind: str) -> None:
    make, words = BAD[kind]
    (given / "net.pt").write_bytes(make(made))
    said = await refusal("net.pt", format="torchscript", inputs=INPUT, limits=LIMITS)
    assert words in said
    assert not (made / "HARM").exists()


async def test_an_endless_torchscript_archive_is_ended(given: Path, made: Path, refusal: Any) -> None:
    (given / "net.pt").write_bytes((made / "Endless.pt").read_bytes())
    words = await refusal("net.pt", inputs=INPUT, limits=Limits(seconds=4, memory=2 * 2**30))
    assert "the model was ended: it took longer than 4.0 s" in words


async def test_trusted_code_may_reach_files(given: Path, made: Path, convert_file: Any) -> None:
    (given / "net.pt").write_bytes((made / "Writes.pt").read_bytes())
    proven = await convert_file("net.pt", inputs=INPUT, trust=True, limits=LIMITS)
    assert proven.report.verdict == "proven"
    (made / "HARM").unlink()  # so it is seen where code runs


@pytest.mark.parametrize("model", ["Computes", "Chained"])
async def test_code_that_computes_is_converted(given: Path, made: Path, convert_file: Any, model: str) -> None:
    (given / "net.pt").write_bytes(again(made / f"{model}.pt"))
    proven = await convert_file("net.pt", inputs=INPUT, limits=LIMITS)
    assert proven.report.verdict == "proven"
