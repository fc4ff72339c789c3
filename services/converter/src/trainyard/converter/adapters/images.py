"""The interpreter of an image: built where it is missing, by the same cache that jobs run from."""

from __future__ import annotations

from pathlib import Path

import structlog

from trainyard.common.errors import InvalidInput
from trainyard.common.images import cache, catalogue

log = structlog.get_logger()


class ImageInterpreters:
    def __init__(self, folder: Path, images: Path) -> None:
        self._catalogue = folder
        self._images = images

    async def python(self, image: str) -> Path:
        """Raises InvalidInput for an image without a framework, ImageUnavailable when it cannot be built."""
        if image in catalogue.BUILT_IN:
            raise InvalidInput.one(f"image {image!r} holds no framework to convert with", "image")
        recipe = catalogue.read(self._catalogue, image)
        return (await cache.obtain(recipe, self._images, log.info)).python
