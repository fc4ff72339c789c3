"""What is no model of any format, or not of the one that it seems: refused before or when it is opened, without its code."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

Make = Callable[[Path], object]
INPUTS = [{"name": "x", "shape": ["batch", 3]}]
TRUST = "can run code that lies in it (set it if you trust the file)"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


def running(harm: Path) -> bytes:
    """A pickle that runs `touch`."""
    return f"cposix\nsystem\n(S'touch {harm}'\ntR.".encode()


def pickled(file: Path) -> None:
    file.write_bytes(running(file.parent / "HARM"))


def archive(file: Path, **members: bytes) -> None:
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(name.replace("__", "/"), content)


def slipping(file: Path) -> None:
    archive(file, **{"../../HARM": b"out", str(file.parent / "HARM2"): b"out"})


def linking(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as made:
        link = zipfile.ZipInfo("model.weights.h5")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")


def crowded(file: Path) -> None:
    """A zip whose end says that there are more members than there are."""
    archive(file, a=b"a")
    content = bytearray(file.read_bytes())
    content[-14:-10] = b"\xff\xfe\xff\xfe"
    file.write_bytes(content)


def two_faced(file: Path) -> None:
    """An ONNX model by its name, and a zip by its end."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as made:
        made.writestr("net/data.pkl", "x")
    file.write_bytes(b"\xff" * 64 + written.getvalue())


def countless(file: Path) -> None:
    """Four hundred thousand entries that all are of one empty member."""
    member = b"PK\x03\x04" + bytes(22) + b"\x01\0\0\0" + b"a"
    directory = (b"PK\x01\x02" + bytes(24) + b"\x01" + bytes(17) + b"a") * 400_000
    end = struct.pack("<HHHHIIH", 0, 0, 65535, 65535, len(directory), len(member), 0)
    file.write_bytes(member + directory + b"PK\x05\x06" + end)


BAD: dict[str, tuple[str, Make, dict[str, Any], str]] = {
    "nothing there": ("net.onnx", lambda file: None, {}, "there is no model at"),
    "an empty file": ("net.onnx", lambda file: file.touch(), {}, "net.onnx cannot be read as ONNX"),
    "no protobuf": ("net.onnx", lambda file: file.write_bytes(b"\xff" * 4096), {}, "net.onnx cannot be read as ONNX"),
    "a pipe": ("net.onnx", os.mkfifo, {}, "neither a file nor a folder"),
    "a pipe whose format is named": ("net.onnx", os.mkfifo, {"format": "onnx"}, "neither a file nor a folder"),
    "a link to nowhere": ("net.onnx", lambda file: file.symlink_to("nowhere"), {}, "there is no model at"),
    "a link to itself": ("net.onnx", lambda file: file.symlink_to(file), {}, "cannot be read"),
    "a folder as a file": (
        "net.onnx",
        lambda file: file.mkdir(),
        {},
        "the folder net.onnx is in no format that is known",
    ),
    "a folder as a file whose format is named": (
        "net.onnx",
        lambda file: file.mkdir(),
        {"format": "onnx"},
        "net.onnx is a folder, onnx is a file",
    ),
    "a file as a folder": (
        "net",
        lambda file: file.touch(),
        {"format": "saved-model"},
        "net is a file, saved-model is a folder",
    ),
    "a pickle": ("net.pkl", pickled, {}, TRUST),
    "a pickle of joblib": ("net.joblib", pickled, {}, TRUST),
    "a pickle called ONNX": ("net.onnx", pickled, {}, "net.onnx cannot be read as ONNX"),
    "a pickle called JSON": ("net.json", pickled, {}, "net.json is in no format that is known here"),
    "a pickle named as one": ("net.onnx", pickled, {"format": "sklearn"}, TRUST),
    "a program of torch.export": ("net.pt2", pickled, {"inputs": INPUTS}, TRUST),
    "a program of torch.export in an archive": (
        "net.pt",
        lambda file: archive(file, serialized_exported_program=b"{}", net__models__=b"", n__models__model=b""),
        {"inputs": INPUTS, "format": "torch-export"},
        TRUST,
    ),
    "an archive that slips": ("net.zip", slipping, {}, "net.zip is in no format that is known here"),
    "an archive that slips as a model": ("net.onnx", slipping, {}, "net.onnx cannot be read as ONNX"),
    "an archive with a link": ("net.bin", linking, {"format": "onnx"}, "net.bin cannot be read as ONNX"),
    "an archive of too many members": ("net.bin", crowded, {}, "net.bin is in no format that is known here"),
    "an archive of countless members": ("net.bin", countless, {}, "net.bin is in no format that is known here"),
    "half an archive": ("net.bin", lambda file: file.write_bytes(b"PK\x03\x04" + bytes(100)), {}, "in no format"),
    "two formats in one": ("net.onnx", two_faced, {}, "net.onnx cannot be read as ONNX"),
    "a pointer to a file": (
        "net.onnx",
        lambda file: file.write_bytes(POINTER),
        {},
        "net.onnx is a pointer of Git LFS, not a model (git lfs pull fetches the file)",
    ),
    "a page of the web": (
        "net.onnx",
        lambda file: file.write_bytes(b"<!DOCTYPE html><html>404</html>"),
        {},
        "net.onnx is a page of the web, not a model (what fetched it was sent something else)",
    ),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_file_is_refused_when_it_is_opened(given: Path, refusal: Any, kind: str) -> None:
    name, make, block, words = BAD[kind]
    make(given / name)
    assert words in await refusal(name, **block)
