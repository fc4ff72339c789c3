"""Which of all that fits is best. Pure.

In this order: the products as the job prefers them; what the image brings for this hardware without being asked
(FlashAttention on an A100), unless the job wants the latest; the newest release; no limits of the driver; the smallest
hardware that fits, so that large devices stay free for those who need them; the most nodes; nothing that is of no use.
"""

from __future__ import annotations

from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import Pair, Question, limited
from trainyard.matrix.core.targets import Target


def of_image(image: Image) -> tuple[object, ...]:
    """For a job without accelerators: what was made for processors before what merely runs on them."""
    made_for_it = 2 * (image.accelerators[:1] == ("cpu",)) + ("cpu" in image.accelerators)
    return (made_for_it, *newest(image), image.name)


def newest(image: Image) -> tuple[bool, object]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else ())


def score(question: Question, pair: Pair) -> tuple[object, ...]:
    """Greater is better."""
    image, target = pair
    bf16 = target.product.bf16 if target.product is not None else None
    memory = target.product.memory if target.product is not None else None
    brings = len(extras(question, image, target))
    return (
        -target.rank,
        *((newest(image), brings) if question.wish.newest else (brings, newest(image))),
        not limited(question, pair),
        -(bf16 or 0.0),
        -(memory or 0),
        target.nodes,
        brings - len(image.features),
        image.name,
        target.product.name if target.product is not None else "",
    )


def extras(question: Question, image: Image, target: Target) -> list[str]:
    """Features that the image brings and this hardware is known to have."""
    product = target.product
    if product is None or product.capability is None:
        return []
    capability = f"{product.capability[0]}.{product.capability[1]}"
    known = [question.facts.features[name] for name in image.features if name in question.facts.features]
    return [feature.name for feature in known if feature.stack == product.stack and capability in feature.capability]
