"""Images on this machine, for the reconciler: a built one at once, a missing one beside the event loop."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import structlog

from trainyard.common.images import cache, catalogue, store
from trainyard.launcher.core.plan import Interpreter

log = structlog.get_logger()


class LocalImages:
    """Implements ports.Images."""

    def __init__(self, folder: Path, images: Path) -> None:
        self._catalogue = folder
        self._images = images
        self._built: dict[str, Interpreter] = {}
        self._host = _host()
        self._builds: dict[str, asyncio.Task[Interpreter]] = {}

    def interpreter(self, image: str) -> Interpreter | None:
        if image in catalogue.BUILT_IN:
            return self._host
        known = self._built.get(image)
        if known is None or not Path(known.python or "").exists():  # somebody may have deleted it to make room
            self._built.pop(image, None)
            found = cache.find(catalogue.read(self._catalogue, image), self._images)
            if found is None:
                return None
            self._built[image] = _of(found)
        return self._built[image]

    async def build(self, image: str) -> Interpreter:
        """Jobs that want the same image share one build."""
        if image not in self._builds or self._builds[image].done():
            self._builds[image] = asyncio.create_task(self._build(image))
        return await asyncio.shield(self._builds[image])

    async def fraction(self, image: str) -> float | None:
        recipe = catalogue.read(self._catalogue, image)
        if not recipe.size:
            return None
        growing = cache.building(recipe, self._images)
        return min(1.0, await asyncio.to_thread(store.bytes_below, growing) / recipe.size)

    async def _build(self, image: str) -> Interpreter:
        recipe = catalogue.read(self._catalogue, image)
        built = await cache.obtain(recipe, self._images, log.info)
        self._built[image] = _of(built)
        return self._built[image]


def _of(image: cache.Image) -> Interpreter:
    return Interpreter(str(image.python), str(image.python.parent))


def _host() -> Interpreter:
    """Whatever Python the user has; ours where there is none."""
    return Interpreter(shutil.which("python3") or shutil.which("python") or sys.executable, None)
