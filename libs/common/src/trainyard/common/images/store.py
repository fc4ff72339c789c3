"""What lies in the cache of built images, for people: names, sizes, what is still wanted, what may go."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from trainyard.common.images import cache
from trainyard.common.images.catalogue import Recipe


@dataclass(frozen=True, slots=True)
class Stored:
    """A folder of the cache."""

    name: str
    key: str
    folder: Path
    size: int
    """Bytes as they are counted file by file; hard links to uv's cache cost nothing more."""
    state: str
    """`ready`; `old` (its recipe has changed or is gone); `building`; `broken` (what a killed builder left)."""


def stored(images: Path, recipes: Iterable[Recipe]) -> list[Stored]:
    """Everything in the cache, by name."""
    wanted = {f"{recipe.name}-{cache.key_of(recipe)}" for recipe in recipes}
    folders = (path for path in images.iterdir() if path.is_dir()) if images.is_dir() else ()
    return sorted((_stored(folder, wanted) for folder in folders), key=lambda item: (item.name, item.key, item.folder))


def prune(images: Path, recipes: Iterable[Recipe], *, everything: bool = False) -> tuple[list[Stored], list[Stored]]:
    """Deletes what no recipe asks for any more, and what killed builders left; with `everything` all images that no
    process runs from. Gives what went and what is in use. The next job that needs an image builds it again."""
    running = _executables()
    gone, kept = [], []
    for item in stored(images, recipes):
        if item.state == "building" or (item.state == "ready" and not everything):
            continue
        with _locked(item.folder) as mine:
            if not mine or _in_use(item.folder, running):
                kept.append(item)
                continue
            _delete(item.folder)
            gone.append(item)
    return gone, kept


def _delete(folder: Path) -> None:
    """Out of the way first: nobody finds half of it under its name. A prune that was killed has left that half."""
    dying = folder.with_suffix(".deleted")
    with suppress(FileNotFoundError):
        shutil.rmtree(dying)
    with suppress(FileNotFoundError):
        folder.rename(dying)
        shutil.rmtree(dying)


def bytes_below(folder: Path) -> int:
    """What a build has put into its folder so far; what vanishes meanwhile counts nothing."""
    total = 0
    for where, _, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(f"{where}/{name}").st_size
            except OSError:
                continue
    return total


def _stored(folder: Path, wanted: Collection[str]) -> Stored:
    name, _, key = folder.stem.rpartition("-")
    if (folder / "ready.json").exists() and not folder.suffix:
        state = "ready" if folder.name in wanted else "old"
    else:
        with _locked(folder) as mine:
            state = "broken" if mine else "building"
    return Stored(name, key, folder, bytes_below(folder), state)


class _locked:  # noqa: N801 - reads as what it is
    """The lock that builders of this image hold; true when we hold it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder.with_suffix(".lock")

    def __enter__(self) -> bool:
        self._file = self._path.open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _executables() -> list[str]:
    return [path for process in psutil.process_iter() for path in _paths_of(process)]


def _paths_of(process: psutil.Process) -> Iterator[str]:
    """A venv's python is a link, which the kernel resolves: the command line has the path as it was called."""
    try:
        yield from process.cmdline()[:2]
    except psutil.Error:
        return


def _in_use(folder: Path, running: Iterable[str]) -> bool:
    return any(path.startswith(f"{folder}{os.sep}") for path in running)
