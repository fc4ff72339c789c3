"""Which image runs on which hardware: the rules that need both, asked once for each sort of node and remembered.

None of them depends on what a job wants, so the answers are kept as sets of images, one bit each: a job over a thousand
nodes and the whole catalogue costs a few operations on integers for each sort of node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from trainyard.matrix.core import changes, running, scoring
from trainyard.matrix.core.facts import Facts
from trainyard.matrix.core.hardware import DriverVersion, Product
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.rules import MACHINE, Question, capabilities, like, other_releases
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target

Pair = tuple[Image, Target]


@dataclass(frozen=True, slots=True)
class PairRule:
    name: str
    keeps: Callable[[Facts, Image, Target], bool]
    wish: Callable[[Question], str]
    """What was asked for, to complete "no image …"."""
    changes: Callable[[Question, Sequence[Pair]], list[str]]
    because: Callable[[Sequence[Target]], str] = lambda _: ""
    """What is known of the hardware, for the message."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One sort of hardware against all images; bit i stands for image i."""

    allowed: tuple[int, ...]
    """By each rule of `RULES`."""
    by_features: tuple[int, ...]
    """Images, best first: what they bring for this hardware, then the newest."""
    by_release: tuple[int, ...]
    """Images, best first: the newest, then what they bring."""


def row(facts: Facts, images: tuple[Image, ...], target: Target) -> Row:
    return _row(facts, images, target.product, target.driver, target.machine)


@lru_cache(maxsize=1024)
def _row(
    facts: Facts,
    images: tuple[Image, ...],
    product: Product | None,
    driver: DriverVersion | None,
    machine: str | None,
) -> Row:
    target = Target(product, driver, machine)
    every = range(len(images))
    return Row(
        tuple(sum(1 << i for i in every if rule.keeps(facts, images[i], target)) for rule in RULES),
        tuple(sorted(every, key=lambda i: scoring.score(facts, images[i], target, newest_first=False), reverse=True)),
        tuple(sorted(every, key=lambda i: scoring.score(facts, images[i], target, newest_first=True), reverse=True)),
    )


def members(images: Sequence[Image], bits: int) -> Iterator[Image]:
    return (image for i, image in enumerate(images) if bits >> i & 1)


def best(images: Sequence[Image], bits: int, order: Sequence[int]) -> Image | None:
    """The first of `order` that is in the set."""
    return next((images[i] for i in order if bits >> i & 1), None)


def _stack(_: Facts, image: Image, target: Target) -> bool:
    product = target.product
    return product is None or (product.kind in image.accelerators and image.stack in {"", product.stack})


def _kernels(facts: Facts, image: Image, target: Target) -> bool:
    if target.product is None or target.product.capability is None:
        return True
    return running.image(facts, image, target.product.capability, target.machine or MACHINE) is not Fit.NO


def _driver(facts: Facts, image: Image, target: Target) -> bool:
    return running.on_driver(facts, image, target.driver) is not Fit.NO


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
