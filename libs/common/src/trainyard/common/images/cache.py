"""The cache of built images: content-addressed, built once, never half.

An image is built in a folder of its own and renamed when it is whole; builders of the same image wait for one another
on a lock and then share the result. The key covers the recipe, its lock and the interpreter, so a changed recipe is a new
image beside the old one.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import platform
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from trainyard.common.errors import TrainyardError
from trainyard.common.images import drivers, uv
from trainyard.common.images.catalogue import Recipe

Progress = Callable[[str], None]
NEVER = threading.Event()
"""Is not set."""


class ImageUnavailable(TrainyardError):
    """The image cannot be had on this machine; the sentence says why and what to do."""


@dataclass(frozen=True, slots=True)
class Image:
    name: str
    key: str
    python: Path


def key_of(recipe: Recipe) -> str:
    """Equal for equal content on equal interpreters and machines."""
    try:
        version = uv.interpreter(recipe.python).version if recipe.python else ""
    except uv.Failed:  # building it says so in words
        version = ""
    parts = (repr(recipe.content), version, platform.machine(), sys.platform)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def find(recipe: Recipe, images: Path) -> Image | None:
    """The built image, when it is there."""
    folder = _folder(recipe, images)
    whole = (folder / "ready.json").exists() and _python(folder).exists()  # not when its Python was removed
    return Image(recipe.name, key_of(recipe), _python(folder)) if whole else None


def obstacle(recipe: Recipe) -> str | None:
    """Why this machine cannot build it, as far as that can be told without trying."""
    try:
        if not recipe.not_local:
            uv.interpreter(recipe.python)
    except uv.Failed as error:
        return str(error)
    return recipe.not_local or drivers.missing(recipe.needs)


def building(recipe: Recipe, images: Path) -> Path:
    """Where the image grows while it is built."""
    return _folder(recipe, images).with_suffix(".building")


def ensure(recipe: Recipe, images: Path, progress: Progress, stop: threading.Event = NEVER) -> Image:
    """The built image; builds it first where it is not there, which blocks for minutes. Setting `stop` ends a build.
    Raises ImageUnavailable."""
    found = find(recipe, images)
    if found is not None:
        return found
    folder = _folder(recipe, images)
    try:
        images.mkdir(parents=True, exist_ok=True)
        with _locked(folder.with_suffix(".lock")) as lock:
            if find(recipe, images) is None:  # nobody else has built it while we waited
                _build(recipe, folder, uv.Builder(progress, stop, lock))
    except (uv.Failed, OSError) as error:
        raise ImageUnavailable(f"image {recipe.name} cannot be built: {error}") from error
    return Image(recipe.name, key_of(recipe), _python(folder))


async def obtain(recipe: Recipe, images: Path, progress: Progress) -> Image:
    """As `ensure`, beside the event loop; cancelling it ends the build.

    In a thread of its own, because a loop that ends waits for those of its pool, and this one may take an hour.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()
    done: asyncio.Future[Image] = loop.create_future()

    def settle(image: Image | None, error: BaseException | None) -> None:
        if image is not None and not done.done():
            done.set_result(image)
        elif error is not None and not done.done():
            done.set_exception(error)

    def work() -> None:
        image, fault = None, None
        try:
            image = ensure(recipe, images, progress, stop)
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever waits
            fault = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, image, fault)

    threading.Thread(target=work, name=f"image {recipe.name}", daemon=True).start()
    try:
        return await done
    finally:
        stop.set()


def _build(recipe: Recipe, folder: Path, builder: uv.Builder) -> None:
    growing = folder.with_suffix(".building")
    for stale in (growing, folder):  # of a builder that was killed
        shutil.rmtree(stale, ignore_errors=True)
    try:
        builder.build(recipe, growing)
        (growing / "ready.json").write_text(json.dumps({"name": recipe.name, "version": recipe.version}))
        growing.replace(folder)
    finally:
        shutil.rmtree(growing, ignore_errors=True)
    builder.progress(f"image {recipe.name} is ready")


def _folder(recipe: Recipe, images: Path) -> Path:
    return images / f"{recipe.name}-{key_of(recipe)}"


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
