"""One archive: what it is called, and whether it may be kept. Pure."""

from __future__ import annotations

import hashlib
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import PurePosixPath

from trainyard.common.contract.quantities import human_bytes
from trainyard.common.contract.sources import MOST, MOST_FILES, MOST_UNPACKED
from trainyard.common.errors import InvalidInput

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can tell
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError),
    NotImplementedError,  # a method of compression that is not known here
    RuntimeError,  # encrypted
)
_LONGEST = 255  # bytes of one name: no usual file system takes more


def digest(archive: bytes) -> str:
    """`sha256:…`"""
    return f"sha256:{hashlib.sha256(archive).hexdigest()}"


def zipped(files: Iterable[tuple[str, bool, bytes]]) -> bytes:
    """Name, whether it can be executed, content. A name that ends in `/` is a folder. The same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, executable, content in files:
            entry = zipfile.ZipInfo(name, _EARLIEST)
            entry.create_system = 3  # Unix, wherever it is made
            folder = name.endswith("/")
            entry.external_attr = (0o40755 if folder else 0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_STORED if folder else zipfile.ZIP_DEFLATED
            made.writestr(entry, content)
    return out.getvalue()


def names(archive: bytes) -> frozenset[str]:
    """Of the files in it, with `/` between folders."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return frozenset(opened.namelist())


def check(archive: bytes) -> None:
    """Raises InvalidInput for what must not be unpacked anywhere."""
    if len(archive) > MOST:
        raise InvalidInput.one(
            f"the archive has {human_bytes(len(archive))}, at most {human_bytes(MOST)} are kept", "source"
        )
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            entries = opened.infolist()
            _check_bounds(entries)  # before anything is unpacked
            damaged = opened.testzip()
    except _UNREADABLE as error:
        raise InvalidInput.one(f"this is no zip archive that can be unpacked: {error}", "source") from None
    if damaged is not None:
        raise InvalidInput.one(f"{damaged} is damaged", "source")
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise InvalidInput.one(f"{entry.filename!r} leads out of the folder", "source")
        if any(len(part.encode(errors="surrogatepass")) > _LONGEST for part in path.parts):
            raise InvalidInput.one(
                f"the name {entry.filename[:40]!r}… is too long", "source", f"at most {_LONGEST} bytes between two /"
            )
    _check_places(entries)


def _check_places(entries: list[zipfile.ZipInfo]) -> None:
    """One name, one thing: unpacking a file where a folder is, or the other way round, fails in the middle."""
    files: set[PurePosixPath] = set()
    folders: set[PurePosixPath] = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if path in files:
            raise InvalidInput.one(f"{str(path)!r} is in it twice", "source", "each file once")
        (folders if entry.is_dir() else files).add(path)
        folders.update(path.parents)
    both = files & folders
    if both:
        raise InvalidInput.one(f"{str(min(both))!r} is both a file and a folder", "source", "give one another name")


def _check_bounds(entries: list[zipfile.ZipInfo]) -> None:
    size = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or size > MOST_UNPACKED:
        raise InvalidInput.one(
            f"it unpacks to {len(entries)} files with {human_bytes(size)}",
            "source",
            f"at most {MOST_FILES} files and {human_bytes(MOST_UNPACKED)}",
        )
