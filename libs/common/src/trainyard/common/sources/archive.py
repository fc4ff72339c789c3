"""One archive: what it is called, and whether it may be kept. Pure."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from pathlib import PurePosixPath

from trainyard.common.contract.quantities import human_bytes
from trainyard.common.contract.sources import MOST, MOST_FILES, MOST_UNPACKED
from trainyard.common.errors import InvalidInput


def digest(archive: bytes) -> str:
    """`sha256:…`"""
    return f"sha256:{hashlib.sha256(archive).hexdigest()}"


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
            damaged = opened.testzip() if _is_bounded(entries) else None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError, zlib.error) as error:
        raise InvalidInput.one(f"this is no zip archive that can be unpacked: {error}", "source") from None
    if damaged is not None:
        raise InvalidInput.one(f"{damaged} is damaged", "source")
    if not _is_bounded(entries):
        raise InvalidInput.one(
            f"it unpacks to {len(entries)} files with {human_bytes(sum(entry.file_size for entry in entries))}", "source",
            f"at most {MOST_FILES} files and {human_bytes(MOST_UNPACKED)}",
        )  # fmt: skip
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts or "\\" in entry.filename:
            raise InvalidInput.one(f"{entry.filename!r} leads out of the folder", "source")


def _is_bounded(entries: list[zipfile.ZipInfo]) -> bool:
    return len(entries) <= MOST_FILES and sum(entry.file_size for entry in entries) <= MOST_UNPACKED
