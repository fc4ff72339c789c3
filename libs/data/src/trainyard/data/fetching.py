"""Files that are elsewhere, brought here: what is at an http(s) address, and what pyarrow reads only from a disk.

They lie in a folder of their own until nobody needs them.
"""

from __future__ import annotations

import shutil
import tempfile
import urllib.error
import urllib.request
import weakref
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from trainyard.data.errors import InvalidData

WAIT = 30.0
"""Seconds that a web server may take to begin, and to go on."""


class Fetched:
    """A file or folder, gone with the last one who holds this."""

    def __init__(self, name: str) -> None:
        folder = tempfile.mkdtemp(prefix="trainyard-fetched-")
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / (name or "data")


def is_web(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def from_web(url: str) -> Fetched:
    """Whole, or InvalidData."""
    fetched = Fetched(PurePosixPath(unquote(urlsplit(url).path)).name)
    try:
        with urllib.request.urlopen(url, timeout=WAIT) as answer, fetched.path.open("wb") as file:  # noqa: S310 - is_web
            shutil.copyfileobj(answer, file, 2**20)
            told = answer.headers.get("Content-Length")
    except urllib.error.HTTPError as error:
        raise InvalidData(f"{url} cannot be read: {error.code} {error.reason}") from error
    except (OSError, HTTPException, ValueError) as error:
        raise InvalidData(f"{url} cannot be read: {getattr(error, 'reason', error) or type(error).__name__}") from error
    size = fetched.path.stat().st_size
    if told is not None and told.isdecimal() and int(told) != size:
        raise InvalidData(f"{url} broke off: {size} bytes came, {told} were told")
    return fetched


def from_store(system: fs.FileSystem, path: str) -> Fetched:
    """A file or folder of an object store. Raises InvalidData."""
    fetched = Fetched(PurePosixPath(path).name)
    try:
        fs.copy_files(path, str(fetched.path), source_filesystem=system)
    except (pa.ArrowException, OSError) as error:
        raise InvalidData(f"{path} cannot be read: {str(error).splitlines()[0]}") from error
    return fetched
