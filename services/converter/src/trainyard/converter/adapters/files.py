"""Files that come and go: a job's samples in, a result out by one rename."""

from __future__ import annotations

import hashlib
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path

import numpy as np

from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import archives
from trainyard.converter.core.cases import Array

MOST_SAMPLES = 2 * 2**30
"""Bytes that samples may be unpacked to: they are held in memory, and an archive of kilobytes can claim terabytes."""
MOST_UNPACKED = 8 * 2**30
"""Bytes of what a worker has computed, in all cases together."""
UNREADABLE = (
    ValueError, OSError, EOFError, KeyError, SyntaxError, OverflowError, RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
"""What numpy and zipfile raise at archives that are none, broken, encrypted, absurd, or of a newer version."""


def scratch_for(target: Path) -> Path:
    """A fresh folder beside `target` that nobody else writes into; what earlier tries left behind is removed."""
    prefix = f".{target.name}-"
    for old in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(old, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    scratch.chmod(0o755)
    return scratch


def publish(scratch: Path, target: Path) -> None:
    """`scratch` becomes `target` by a rename; what an earlier try of the same conversion left there goes first."""
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    scratch.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def digest(file: Path) -> str:
    """SHA-256 in hex, read in pieces."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def there(path: Path, field: str, missing: str) -> None:
    """Raises InvalidInput where there is neither a file nor a folder: a pipe or a device would keep its reader for ever.
    `missing`: what to say where there is nothing."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InvalidInput.one(f"{missing} at {path}", field) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InvalidInput.one(f"{path} cannot be read: {getattr(error, 'strerror', error)}", field) from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InvalidInput.one(f"{path} is neither a file nor a folder", field, "a pipe or a device is not read")


def read_arrays(file: Path) -> dict[str, Array]:
    """The samples in an .npz by name. Pickles in it are refused. Raises InvalidInput."""
    there(file, "convert.samples", "there are no samples")
    try:
        return load_arrays(file, MOST_SAMPLES)
    except TooMuch as error:
        raise InvalidInput.one(str(error), "convert.samples", "a few hundred rows prove as much") from error
    except UNREADABLE as error:
        raise InvalidInput.one(f"{file} cannot be read as .npz: {error}", "convert.samples") from error


class TooMuch(ValueError):
    """An archive says that it unpacks to more than it may."""


def load_arrays(file: Path, most: int = MOST_UNPACKED) -> dict[str, Array]:
    """The arrays of an .npz by name, without pickles, up to `most` bytes. Raises TooMuch, or one of UNREADABLE."""
    if not archives.readable(file):
        raise TooMuch(f"{file} has more members than are read")
    with file.open("rb") as stream:
        stored = np.load(stream, allow_pickle=False)
        if not isinstance(stored, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array without a name, .npz is needed")
        unpacked = sum(member.file_size for member in (stored.zip.infolist() if stored.zip else []))
        if unpacked > most:
            raise TooMuch(f"{file} unpacks to {human_bytes(unpacked)}, the most is {human_bytes(most)}")
        found = {name: stored[name] for name in stored.files}
    strange = [name for name, array in found.items() if not isinstance(array, np.ndarray)]
    if strange:  # numpy gives the bytes of what does not begin like an array
        raise ValueError(f"{strange[0][:100]!r} in it is no array")
    return found
