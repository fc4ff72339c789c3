"""Which image runs on which hardware: the rules that need both, asked for each sort of node.

None of them depends on what a job wants: each answers with a set of images that the catalogue has ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainyard.matrix.core import changes, running
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import MACHINE, Question, capabilities, like, other_releases
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target

Pair = tuple[Image, Target]


@dataclass(frozen=True, slots=True)
class PairRule:
    name: str
    keeps: Callable[[Catalogue, Target], int]
    """The set of images that it lets through on this hardware."""
    wish: Callable[[Question], str]
    """What was asked for, to complete "no image …"."""
    changes: Callable[[Question, Sequence[Pair]], list[str]]
    because: Callable[[Sequence[Target]], str] = lambda _: ""
    """What is known of the hardware, for the message."""


def _stack(catalogue: Catalogue, target: Target) -> int:
    product = target.product
    if product is None:
        return catalogue.every
    made_for = catalogue.by_stack.get("", 0) | catalogue.by_stack.get(product.stack, 0)
    return catalogue.by_kind.get(product.kind, 0) & made_for


def _kernels(catalogue: Catalogue, target: Target) -> int:
    if target.product is None or target.product.capability is None:
        return catalogue.every
    return catalogue.with_kernels(target.product.capability, target.machine or MACHINE)


def _driver(catalogue: Catalogue, target: Target) -> int:
    return catalogue.on_driver(target.driver).allowed


def _same_stack(question: Question, dropped: Sequence[Pair]) -> list[str]:
    """Hardware that people train on, for the stacks that there are images for; the smallest first."""
    stacks = {image.stack for image, _ in dropped}
    products = [p for p in question.facts.hardware.products.values() if p.stack in stacks and p.bf16]
    families = dict.fromkeys(product.family for product in sorted(products, key=lambda p: p.bf16 or 0.0))
    return [changes.accelerators(question.wish.count, [family]) for family in list(families)[:3]]


def _other_hardware(question: Question, dropped: Sequence[Pair]) -> list[str]:
    """Hardware that these images are known to run on; and other releases, unless the job names its image."""
    able = [
        product
        for product in question.facts.hardware.products.values()
        if product.capability is not None
        and any(running.image(question.facts, image, product.capability, MACHINE) is Fit.FULL for image, _ in dropped)
    ]
    families = like([target for _, target in dropped], able)
    instead = [changes.accelerators(question.wish.count, families)] if families else []
    releases = other_releases(question, [target for _, target in dropped]) if question.wish.image is None else []
    return list(dict.fromkeys([*instead, *releases]))[:3]


def drivers(targets: Sequence[Target]) -> str:
    found = dict.fromkeys(str(target.driver) for target in targets if target.driver is not None)
    return f"the nodes have {', '.join(found)}" if found else ""


def _older_cuda(question: Question, dropped: Sequence[Pair]) -> list[str]:
    known = [question.facts.drivers[image.cuda] for image, _ in dropped if image.cuda in question.facts.drivers]
    lowest = min((driver.minimum or driver.full for driver in known), default=None)
    return [f"an image for an older CUDA, or driver {lowest} on the nodes"] if lowest else []


def asked(question: Question) -> str:
    products = question.wish.products
    return ", ".join(dict.fromkeys(product.family for product in products)) or "/".join(question.wish.kinds)


RULES: tuple[PairRule, ...] = (
    PairRule("stack", _stack, lambda question: f"is made for {asked(question)}", _same_stack),
    PairRule(
        "compute capability",
        _kernels,
        lambda question: f"has kernels for {asked(question)}",
        _other_hardware,
        because=capabilities,
    ),
    PairRule(
        "driver",
        _driver,
        lambda question: f"runs with the driver of {asked(question)}",
        _older_cuda,
        because=drivers,
    ),
)
