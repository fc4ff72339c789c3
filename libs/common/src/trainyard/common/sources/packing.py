"""A folder as an archive: the same bytes for the same files, without what nobody wants to send.

Left out are version control, caches, environments and `.env` (secrets have no place in a job), and what the folder's
`.yardignore` names, or its `.gitignore` where there is none.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from pathspec import GitIgnoreSpec

from trainyard.common.contract.quantities import human_bytes
from trainyard.common.contract.sources import MOST, MOST_FILES, MOST_UNPACKED
from trainyard.common.errors import InvalidInput
from trainyard.common.sources import archive

IGNORE_FILES = (".yardignore", ".gitignore")
ALWAYS = (
    ".git/", ".hg/", ".svn/", ".yard/", ".env", ".venv/", "venv/", "node_modules/", "__pycache__/", "*.pyc",
    ".ipynb_checkpoints/", ".mypy_cache/", ".pytest_cache/", ".ruff_cache/", ".DS_Store",
)  # fmt: skip
_HINT = "name data and results in .yardignore, put code into the image (`source: image`), or mount a claim"

_READABLE = "make it readable for you, or name it in .yardignore"


def pack(folder: Path) -> bytes:
    """Raises InvalidInput for what cannot be sent."""
    files = sorted(_files(folder))
    sizes = {name: path.stat().st_size for name, path in files}
    if len(files) > MOST_FILES or sum(sizes.values()) > MOST_UNPACKED:
        raise _too_much(folder, sizes, sum(sizes.values()), MOST_UNPACKED)
    data = archive.zipped((name, os.access(path, os.X_OK), _read(path)) for name, path in files)
    if len(data) > MOST:
        raise _too_much(folder, sizes, len(data), MOST)
    return data


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Name in the archive and file. Raises InvalidInput where a name or a link cannot be sent, or there is no end to it."""
    ignored, count = _ignored(folder), 0
    for root, folders, names in os.walk(folder, onerror=_unreadable):
        place = Path(root).relative_to(folder)
        folders[:] = sorted(name for name in folders if not ignored.match_file(f"{(place / name).as_posix()}/"))
        for name in folders:
            if (folder / place / name).is_symlink():
                raise InvalidInput.one(
                    f"{folder / place / name} is a symbolic link to a folder, which is not sent", "workdir",
                    "name it in .yardignore, or put the folder itself there",
                )  # fmt: skip
        for name in names:
            path, inside = folder / place / name, (place / name).as_posix()
            if ignored.match_file(inside) or not _is_file(path):
                continue
            if not inside.isprintable():
                raise InvalidInput.one(f"the file {inside!r} cannot be sent under this name", "workdir")
            count += 1
            if count > MOST_FILES:
                raise InvalidInput.one(f"{folder} has more than {MOST_FILES} files", "workdir", _HINT)
            yield inside, path


def _ignored(folder: Path) -> GitIgnoreSpec:
    found = next((folder / name for name in IGNORE_FILES if _is_file(folder / name)), None)
    lines = _read(found).decode(errors="replace").splitlines() if found is not None else []
    try:
        return GitIgnoreSpec.from_lines([*ALWAYS, *lines])
    except ValueError as error:
        raise InvalidInput.one(f"{found} cannot be followed: {error}", "workdir") from error


def _unreadable(error: OSError) -> NoReturn:
    raise InvalidInput.one(f"{error.filename} cannot be read: {error.strerror}", "workdir", _READABLE) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError as error:  # in a folder that may be listed and not entered
        _unreadable(error)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        _unreadable(error)


def _too_much(folder: Path, sizes: dict[str, int], size: int, most: int) -> InvalidInput:
    largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
    words = ", ".join(f"{name} ({human_bytes(sizes[name])})" for name in largest)
    what = "as an archive" if most == MOST else f"in {len(sizes)} files"
    text = f"{folder} has {human_bytes(size)} {what}, at most {human_bytes(most)} can be sent; the largest: {words}"
    return InvalidInput.one(text, "workdir", _HINT)
