"""The measuring of wheels, on fat binaries that are made here byte by byte."""

from __future__ import annotations

import importlib.util
import struct
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheel_kernels", ROOT / "tools" / "wheel_kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load()


def entry(kind: int, architecture: int, code: bytes = b"code" * 4) -> bytes:
    head = struct.pack("<HHIQ12xI", kind, 0x101, 64, len(code), architecture)
    return head.ljust(64, b"\0") + code


def fat_binary(*entries: bytes) -> bytes:
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


LIBRARY = (
    b"\x7fELF" + b"\0" * 100
    + fat_binary(entry(2, 80), entry(2, 86), entry(2, 90), entry(1, 90))
    + b"\0" * 7  # alignment is nobody's promise
    + fat_binary(entry(2, 80), entry(2, 120))
)  # fmt: skip


def test_every_kernel_is_counted_by_its_capability() -> None:
    assert tool.kernels(LIBRARY) == {"8.0": 2, "8.6": 1, "9.0": 1, "9.0+PTX": 1, "12.0": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nothing of the kind",
        tool.MAGIC,  # cut off behind the magic number
        tool.MAGIC + b"\xff" * 60,  # of another version
        fat_binary(entry(9, 80)),  # an entry of no known kind
    ],
)
def test_what_only_looks_like_one_is_passed_over(data: bytes) -> None:
    assert tool.kernels(data) == {}
    assert tool.kernels(data + fat_binary(entry(2, 75)))["7.5"] == 1


def test_a_wheel_is_told_by_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/lib/liba.so.2", LIBRARY)
        archive.writestr("a/lib/libplain.so", b"\x7fELF")
        archive.writestr("a/lib/empty.so", b"")
        archive.writestr("a/__init__.py", "")
    monkeypatch.setattr(sys, "argv", ["wheel_kernels.py", str(wheel)])
    assert tool.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "a-1-py3-none-any.whl",
        "  a/lib/liba.so.2: 8.0 (2), 8.6 (1), 9.0 (1), 9.0+PTX (1), 12.0 (1)",
    ]
