"""Folders as archives: what is sent, what is not, what must not be kept."""

from __future__ import annotations

import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract import sources as limits
from trainyard.common.errors import InvalidInput
from trainyard.common.sources import archive
from trainyard.common.sources.packing import pack
from trainyard.common.sources.store import Sources


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def _zip(entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made:
        for name, data in entries.items():
            made.writestr(name, data)
    return out.getvalue()


def _broken(method: int) -> bytes:
    """The compressed bytes of its one file are others."""
    data = bytearray(_zip({"a": bytes(range(256)) * 20}, method))
    data[40:60] = b"\xff" * 20
    return bytes(data)


def _patched(offset_local: int, offset_central: int, value: int) -> bytes:
    """A header field of its one file is another, in both places where it stands."""
    data = bytearray(_zip({"a": b"x"}))
    central = data.index(b"PK\x01\x02")
    data[offset_local] = data[central + offset_central] = value
    return bytes(data)


def test_the_same_files_are_the_same_bytes_wherever_they_are(tmp_path: Path) -> None:
    one = _write(tmp_path / "one", train_dot_py="print(1)", pkg__a_dot_py="a")
    two = _write(tmp_path / "two", pkg__a_dot_py="a", train_dot_py="print(1)")
    os.utime(two / "train.py", (0, 0))
    assert pack(one) == pack(two)
    assert archive.names(pack(one)) == {"train.py", "pkg/a.py"}
    (two / "train.py").chmod(0o755)
    assert pack(one) != pack(two), "whether a file can be executed is part of it"


@pytest.mark.parametrize(
    ("ignore", "sent"),
    [
        ({}, {"train.py", "data/a.bin", "sub/data/b.bin"}),
        ({".gitignore": "data/\n"}, {"train.py"}),
        ({".gitignore": "data/\n", ".yardignore": "/data\n"}, {"train.py", "sub/data/b.bin"}),
        ({".gitignore": "*.bin\n!a.bin\n"}, {"train.py", "data/a.bin"}),
    ],
)
def test_what_is_left_out(tmp_path: Path, ignore: dict[str, str], sent: set[str]) -> None:
    _write(tmp_path, train_dot_py="", data__a_dot_bin="", sub__data__b_dot_bin="")
    for name in (
        ".git/HEAD",
        "__pycache__/train.pyc",
        ".venv/bin/python",
        "sub/node_modules/x.js",
        ".env",
        ".yard/jobs/x",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    for name, text in ignore.items():
        (tmp_path / name).write_text(text)
    assert archive.names(pack(tmp_path)) == sent | set(ignore)


def test_an_empty_folder_and_odd_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert archive.names(pack(tmp_path)) == frozenset()
    (tmp_path / "elsewhere.py").symlink_to(Path(__file__))
    assert archive.names(pack(tmp_path)) == {"elsewhere.py"}


def test_what_cannot_be_sent_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "big.bin").write_bytes(os.urandom(limits.MOST + 1))
    with pytest.raises(InvalidInput, match=r"as an archive.*big\.bin \(878\.\d KiB\).*\.yardignore"):
        pack(tmp_path)
    (tmp_path / "big.bin").unlink()
    (tmp_path / "link").symlink_to(tmp_path.parent)
    with pytest.raises(InvalidInput, match="link to a folder"):
        pack(tmp_path)
    (tmp_path / "link").unlink()
    (tmp_path / "a\nb").write_text("")
    with pytest.raises(InvalidInput, match="under this name"):
        pack(tmp_path)
    (tmp_path / "a\nb").unlink()
    monkeypatch.setattr("trainyard.common.sources.packing.MOST_FILES", 2)
    _write(tmp_path, a="", b="", c="")
    with pytest.raises(InvalidInput, match="more than 2 files"):
        pack(tmp_path)


@pytest.mark.parametrize(("rights", "name"), [(0o000, "closed"), (0o444, "closed/a.py")])
def test_a_folder_that_may_not_be_looked_into_is_not_left_out_in_silence(rights: int, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        closed = Path(folder, "closed")
        _write(Path(folder), closed__a_dot_py="")
        closed.chmod(rights)
        try:
            with _nobody(), pytest.raises(InvalidInput, match=f"{name} cannot be read: Permission denied"):
                pack(Path(folder))
            (Path(folder) / ".yardignore").write_text("closed/\n")
            with _nobody():
                assert archive.names(pack(Path(folder))) == {".yardignore"}
        finally:
            closed.chmod(0o755)


@contextmanager
def _nobody() -> Iterator[None]:
    """As one whom rights bind, also where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no zip archive"),
        (b"PK\x03\x04 and no more", "no zip archive"),
        (_zip({"../up.py": b""}), "leads out of the folder"),
        (_zip({"/etc/passwd": b""}), "leads out of the folder"),
        (_zip({"a\\..\\b": b""}), "leads out of the folder"),
        (_zip({"a": b"1", "a/b": b"2"}), "'a' is both a file and a folder"),
        (_zip({"a/": b"", "a": b"2"}), "'a' is both a file and a folder"),
        (_zip({"a/b": b"", "a/./b": b""}), "'a/b' is in it twice"),
        (_zip({"d/" + "ä" * 128: b""}), "is too long"),
        (_broken(zipfile.ZIP_DEFLATED), "no zip archive"),
        (_broken(zipfile.ZIP_BZIP2), "no zip archive"),
        (_broken(zipfile.ZIP_LZMA), "no zip archive"),
        (_patched(8, 10, 99), "no zip archive"),  # a method that there is not
        (_patched(6, 8, 1), "no zip archive"),  # encrypted
        (b"x" * (limits.MOST + 1), "at most"),
        (_zip({"a": b"x" * 1000}).replace(b"x" * 1000, b"y" * 1000), "a is damaged"),
    ],
)
def test_what_must_not_be_kept(data: bytes, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        archive.check(data)


def test_a_bomb_is_not_kept() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("zeros", bytes(limits.MOST_UNPACKED + 1))
    assert len(out.getvalue()) < limits.MOST
    with pytest.raises(InvalidInput, match=r"unpacks to 1 files with 64\.0 MiB"):
        archive.check(out.getvalue())


async def test_an_archive_is_found_by_its_digest_alone() -> None:
    bus = MemoryBus()
    kept, data = await Sources.open(bus), _zip({"train.py": b"print(1)"})
    digest = await kept.put(data)
    assert digest == archive.digest(data)
    assert await kept.put(data) == digest
    assert await kept.get(digest) == await kept.keep(digest) == data
    other = archive.digest(b"never sent")
    assert (await kept.get(other), await kept.keep(other)) == (None, None)
    await bus.close()
