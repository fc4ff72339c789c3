"""The image catalogue on disk, as the matrix sees it. Read once: a changed catalogue takes effect at the next start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from packaging.version import Version

from trainyard.common.images import catalogue
from trainyard.matrix.core.images import BUILT_IN, Image


class CatalogueImages:
    """Implements ports.Images."""

    def __init__(self, folder: Path) -> None:
        self._images = (*BUILT_IN, *(_image(recipe) for recipe in catalogue.read_all(folder)))

    def all(self) -> Sequence[Image]:
        return self._images


def _image(recipe: catalogue.Recipe) -> Image:
    return Image(recipe.name, recipe.framework, Version(recipe.version), recipe.accelerators)
