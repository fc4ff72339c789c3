"""Which of all that fits is best. Pure.

In this order: the products as the job prefers them; what the image brings for this hardware without being asked
(FlashAttention on an A100), unless the job wants the latest; the newest release; no limits of the driver; the smallest
hardware that fits, so that large devices stay free for those who need them; the most nodes; nothing that is of no use.
"""

from __future__ import annotations

from functools import lru_cache

from trainyard.matrix.core.catalogue import Catalogue, brought, extras, newest
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.targets import Target


def of_image(image: Image) -> tuple[object, ...]:
    """For a job without accelerators: what was made for processors before what merely runs on them."""
    made_for_it = 2 * (image.accelerators[:1] == ("cpu",)) + ("cpu" in image.accelerators)
    return (made_for_it, *newest(image), image.name)


def best(catalogue: Catalogue, bits: int, target: Target, *, newest_first: bool) -> Image | None:
    """Of a set of images the one with the highest `score` on this hardware, narrowed down rule by rule."""
    if not bits:
        return None
    if newest_first:
        bits = _newest(catalogue, bits)
    product = target.product
    if product is not None and product.capability is not None:
        bits = catalogue.with_most_extras(bits, product.stack, product.capability)
    bits = _newest(catalogue, bits)
    return catalogue.first(bits & ~catalogue.on_driver(target.driver).limited or bits)


def _newest(catalogue: Catalogue, bits: int) -> int:
    """Those of the newest release among them."""
    return bits & catalogue.same_release[catalogue.index_of_first(bits)]


def score(catalogue: Catalogue, image: Image, target: Target, *, newest_first: bool) -> tuple[object, ...]:
    """Greater is better; without the job's preference among products, which comes first of all."""
    brings = len(of_use(catalogue, image, target))
    limited = catalogue.on_driver(target.driver).limited & catalogue.by_name[image.name]
    return (
        *((newest(image), brings) if newest_first else (brings, newest(image))),
        not limited,
        *_smallest_first(target),
        brings - len(brought(catalogue.facts, image)),
        image.name,
        target.product.name if target.product is not None else "",
    )


@lru_cache(maxsize=4096)
def _smallest_first(target: Target) -> tuple[float, int, int]:
    product = target.product
    if product is None:
        return (0.0, 0, target.nodes)
    return (-(product.bf16 or 0.0), -(product.memory or 0), target.nodes)


def of_use(catalogue: Catalogue, image: Image, target: Target) -> list[str]:
    """Features that the image brings beyond its framework, and that this hardware is known to have."""
    product = target.product
    if not image.features or product is None or product.capability is None:
        return []
    return extras(catalogue.facts, image, product.stack, product.capability)
