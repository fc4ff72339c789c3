"""What a model's file or folder is, without reading more of it than its first bytes and the names in it."""

from __future__ import annotations

import zipfile
from pathlib import Path

from trainyard.common.contract.conversions import Format
from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import archives
from trainyard.converter.adapters.files import there
from trainyard.converter.core import formats


def format_of(path: Path, framework: str | None = None, named: Format | None = None) -> Format:
    """`framework`: what it was trained with, where somebody knows; `named`: the format, where somebody says it.
    Raises InvalidInput where there is nothing, or nothing that is known."""
    there(path, "convert.weights", "there is no model")
    try:
        if path.is_dir():
            return formats.told_folder(path.name, {child.name for child in path.iterdir()}, named)
        with path.open("rb") as stream:
            head = stream.read(formats.HEAD)
    except OSError as error:
        raise InvalidInput.one(f"{path} cannot be read: {error.strerror}", "convert.weights") from error
    members = _members(path) if head.startswith(b"PK") and named is None else ()
    return formats.told(path.name, head, members, framework, named)


def _members(path: Path) -> list[str]:
    try:
        if not archives.readable(path):
            return []
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):  # the last: a zip of a newer version
        return []
