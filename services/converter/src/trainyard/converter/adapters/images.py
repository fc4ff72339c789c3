"""The interpreter that reads a model: of the image where it was trained, or of an environment that holds the framework and
what exports it. Built where it is missing, by the same cache that jobs run from."""

from __future__ import annotations

import sys
from pathlib import Path

import structlog

from trainyard.common.errors import InvalidInput
from trainyard.common.images import cache, catalogue
from trainyard.converter.core import formats
from trainyard.converter.ports import ExportRequest

log = structlog.get_logger()

USUAL = "pytorch-cpu"


class Interpreters:
    def __init__(self, catalogue_: Path, converters: Path, images: Path) -> None:
        """`catalogue_`, `converters`: folders of recipes; `images`: where they are built."""
        self._catalogue = catalogue_
        self._converters = converters
        self._images = images

    async def python(self, request: ExportRequest) -> Path:
        """Raises InvalidInput for an image without a framework, ImageUnavailable when it cannot be built."""
        environment = request.source.environment
        if environment is not None:
            return await self.environment(environment)
        image = request.image or USUAL
        if image in catalogue.BUILT_IN:
            raise InvalidInput.one(f"image {image!r} holds no framework to convert with", "image")
        return await self._obtain(catalogue.read(self._catalogue, image))

    async def environment(self, name: str) -> Path:
        """Of a folder of `deploy/converters`, or the converter's own. Raises ImageUnavailable."""
        if name == formats.OWN:
            return Path(sys.executable)
        return await self._obtain(catalogue.read(self._converters, name))

    async def _obtain(self, recipe: catalogue.Recipe) -> Path:
        return (await cache.obtain(recipe, self._images, log.info)).python
