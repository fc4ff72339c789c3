"""Which of all that fits is best. Pure.

In this order: the products as the job prefers them; what the image brings for this hardware without being asked
(FlashAttention on an A100), unless the job wants the latest; the newest release; no limits of the driver; the smallest
hardware that fits, so that large devices stay free for those who need them; the most nodes; nothing that is of no use.
"""

from __future__ import annotations

from trainyard.matrix.core import running
from trainyard.matrix.core.facts import Facts, Feature
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target


def of_image(image: Image) -> tuple[object, ...]:
    """For a job without accelerators: what was made for processors before what merely runs on them."""
    made_for_it = 2 * (image.accelerators[:1] == ("cpu",)) + ("cpu" in image.accelerators)
    return (made_for_it, *newest(image), image.name)


def newest(image: Image) -> tuple[bool, object]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else ())


def score(facts: Facts, image: Image, target: Target, *, newest_first: bool) -> tuple[object, ...]:
    """Greater is better; without the job's preference among products, which comes first of all."""
    product = target.product
    brings = len(extras(facts, image, target))
    return (
        *((newest(image), brings) if newest_first else (brings, newest(image))),
        running.on_driver(facts, image, target.driver) is not Fit.LIMITED,
        -((product.bf16 if product is not None else None) or 0.0),
        -((product.memory if product is not None else None) or 0),
        target.nodes,
        brings - len(_brought(facts, image)),
        image.name,
        product.name if product is not None else "",
    )


def extras(facts: Facts, image: Image, target: Target) -> list[str]:
    """Features that the image brings beyond its framework, and that this hardware is known to have."""
    product = target.product
    if not image.features or product is None or product.capability is None:
        return []
    capability = f"{product.capability[0]}.{product.capability[1]}"
    return [
        feature.name
        for feature in _brought(facts, image)
        if feature.stack == product.stack and capability in feature.capability
    ]


def _brought(facts: Facts, image: Image) -> list[Feature]:
    known = [facts.features[name] for name in image.features if name in facts.features]
    return [feature for feature in known if feature.in_image]
