"""The image catalogue on disk, as the matrix sees it. Read once: a changed catalogue takes effect at the next start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.version import Version

from trainyard.common.images import catalogue, pins
from trainyard.matrix.core.images import BUILT_IN, Image

_STACKS = (
    "cuda",
    "rocm",
    "cann",
    "dtk",
    "neuware",
    "xpu",
    "tpu",
    "synapse",
    "neuron",
    "maca",
    "musa",
    "topsrider",
    "corex",
)
"""Labels that name what an image was compiled against; the same words as in the tables of hardware."""


class CatalogueImages:
    """Implements ports.Images."""

    def __init__(self, folder: Path, pushed: Mapping[str, tuple[str, str]] | None = None) -> None:
        recipes = pins.lay_over(catalogue.read_all(folder), pushed or {})
        self._images = (*BUILT_IN, *(image(recipe) for recipe in recipes))

    def all(self) -> Sequence[Image]:
        return self._images


def image(recipe: catalogue.Recipe) -> Image:
    """Label `arch` lists compute capabilities; `8.0 9.0+PTX` brings the PTX of the last."""
    labels = recipe.container.labels
    stack = next((name for name in _STACKS if name in labels), "")
    natives = labels.get("arch", "").replace(",", " ").removesuffix("+PTX").split() if stack == "cuda" else []
    return Image(
        recipe.name,
        recipe.framework,
        Version(recipe.version),
        recipe.accelerators,
        stack=stack,
        stack_version=labels.get(stack, ""),
        natives=",".join(natives),
        ptx=natives[-1] if natives and labels["arch"].endswith("+PTX") else "",
        features=recipe.features,
        reference=recipe.container.pinned,
        obstacle=recipe.not_local,
    )
