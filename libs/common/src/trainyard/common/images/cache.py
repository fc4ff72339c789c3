"""The cache of built images: content-addressed, built once, never half.

An image is built in a folder of its own and renamed when it is whole; builders of the same image wait for one another
on a lock and then share the result. The key covers the recipe, its lock and the interpreter, so a changed recipe is a new
image beside the old one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.errors import TrainyardError
from trainyard.common.images import uv
from trainyard.common.images.catalogue import Recipe

Progress = Callable[[str], None]


class ImageUnavailable(TrainyardError):
    """The image cannot be had on this machine; the sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    key: str
    python: Path


def key_of(recipe: Recipe) -> str:
    """Equal for equal content on equal interpreters and machines."""
    parts = (repr(recipe), platform.python_version(), platform.machine(), sys.platform)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def find(recipe: Recipe, images: Path) -> Image | None:
    """The built image, when it is there."""
    folder = _folder(recipe, images)
    whole = (folder / "ready.json").exists() and _python(folder).exists()  # not when its Python was removed
    return Image(recipe.name, key_of(recipe), _python(folder)) if whole else None


def ensure(recipe: Recipe, images: Path, progress: Progress) -> Image:
    """The built image; builds it first where it is not there. Blocks for minutes then. Raises ImageUnavailable."""
    found = find(recipe, images)
    if found is not None:
        return found
    images.mkdir(parents=True, exist_ok=True)
    folder = _folder(recipe, images)
    with _locked(folder.with_suffix(".lock")):
        found = find(recipe, images)
        if found is None:
            _build(recipe, folder, progress)
    return Image(recipe.name, key_of(recipe), _python(folder))


def _build(recipe: Recipe, folder: Path, progress: Progress) -> None:
    building = folder.with_suffix(".building")
    for stale in (building, folder):  # of a builder that was killed
        shutil.rmtree(stale, ignore_errors=True)
    try:
        uv.build(recipe, building, progress)
        (building / "ready.json").write_text(json.dumps({"name": recipe.name, "version": recipe.version}))
        building.replace(folder)
    except (uv.Failed, OSError) as error:
        shutil.rmtree(building, ignore_errors=True)
        raise ImageUnavailable(f"image {recipe.name} cannot be built: {error}") from error
    progress(f"image {recipe.name} is ready")


def _folder(recipe: Recipe, images: Path) -> Path:
    return images / f"{recipe.name}-{key_of(recipe)}"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
