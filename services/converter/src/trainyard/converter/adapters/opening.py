"""What a model's file or folder is, without reading more of it than its first bytes and the names in it."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

from trainyard.common.contract.conversions import Format
from trainyard.common.errors import InvalidInput
from trainyard.converter.core import formats


def format_of(path: Path, framework: str | None = None) -> Format:
    """`framework`: what it was trained with, where somebody knows. Raises InvalidInput where there is nothing, or
    nothing that is known."""
    there(path)
    try:
        if path.is_dir():
            return formats.told_folder(path.name, {child.name for child in path.iterdir()})
        with path.open("rb") as stream:
            head = stream.read(formats.HEAD)
    except OSError as error:
        raise InvalidInput.one(f"{path} cannot be read: {error.strerror}", "convert.weights") from error
    return formats.told(path.name, head, _members(path) if head.startswith(b"PK") else (), framework)


def there(path: Path, field: str = "convert.weights", missing: str = "there is no model") -> None:
    """Raises InvalidInput where there is neither a file nor a folder: a pipe or a device would keep its reader for ever."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InvalidInput.one(f"{missing} at {path}", field) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise InvalidInput.one(f"{path} cannot be read: {getattr(error, 'strerror', error)}", field) from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise InvalidInput.one(f"{path} is neither a file nor a folder", field, "a pipe or a device is not read")


def _members(path: Path) -> list[str]:
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # the last: a zip of a newer version
        return []
