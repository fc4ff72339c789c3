"""The hard rules, each a row: what it lets through, what it says, and what to write instead when nothing is left.

They are asked in three tables one after the other: whether the hardware can do it at all (`TARGETS`), which images are
meant (`IMAGES`), and which image runs on which hardware (`core/pairs.py`). A rule drops only for what is known; a missing
fact drops nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from trainyard.common.contract.explain import nearest
from trainyard.matrix.core import changes, running
from trainyard.matrix.core.facts import Facts, Feature
from trainyard.matrix.core.hardware import Product
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wishes import Wish, specifier

C = TypeVar("C")
MACHINE = "x86_64"
"""Where nobody has told what the node is."""


@dataclass(frozen=True, slots=True)
class Question:
    wish: Wish
    facts: Facts


@dataclass(frozen=True, slots=True)
class Rule(Generic[C]):
    name: str
    applies: Callable[[Wish], bool]
    keeps: Callable[[Question, C], bool]
    wish: Callable[[Question], str]
    """What was asked for, to complete "no image …" or "no accelerator …"."""
    changes: Callable[[Question, Sequence[C]], list[str]]
    """What to write instead, nearest first, given all that it dropped."""


def specifics(product: Product) -> str:
    capability = product.capability
    return f"compute capability {capability[0]}.{capability[1]}" if capability else product.stack


# Hardware


def _missing(question: Question, target: Target) -> list[Feature]:
    """The wished features that this hardware is known not to have."""
    product = target.product
    if product is None or product.capability is None:
        return []
    text = f"{product.capability[0]}.{product.capability[1]}"
    return [
        feature
        for feature in question.wish.known_features(question.facts)
        if feature.stack == product.stack and text not in feature.capability
    ]


def _other_features(question: Question, dropped: Sequence[Target]) -> list[str]:
    missing = list(dict.fromkeys(feature for target in dropped for feature in _missing(question, target)))
    if not missing:
        return []
    able = [
        product
        for product in question.facts.hardware.products.values()
        if product.bf16 and not _missing(question, Target(product)) and product.stack == "cuda"
    ]
    families = list(dict.fromkeys(p.family for p in sorted(able, key=lambda p: (p.bf16 or 0, p.memory or 0))))
    count = question.wish.count
    kept = [name for name in question.wish.features if name not in {feature.name for feature in missing}]
    others = [feature.instead for feature in missing if feature.instead and feature.instead not in kept]
    changed = [*kept, *others]
    known = [name for name in ("a10", "a100", "h100") if name in families] or families
    return [
        *([changes.accelerators(count, known[:3])] if known else []),
        changes.features(question.wish, changed),
    ]


def _runs(question: Question, target: Target) -> bool:
    product = target.product
    if product is None or product.capability is None:
        return True
    wish, machine = question.wish, target.machine or MACHINE
    return running.any_release(question.facts, wish.framework, wish.version, product.capability, machine) is not Fit.NO


def other_releases(question: Question, dropped: Sequence[Target]) -> list[str]:
    wish, facts, instead = question.wish, question.facts, list[str]()
    for target in dropped[:2]:
        product = target.product
        if product is None or product.capability is None:
            continue
        machine = target.machine or MACHINE
        fit = [
            item.version
            for item in facts.releases.get(wish.framework, ())
            if running.release(facts, wish.framework, item.version, product.capability, machine) is Fit.FULL
        ]
        floor = facts.floor(wish.framework, product.capability)
        if floor is not None:
            instead.append(f"framework: {wish.framework}>={floor.release.major}.{floor.release.minor}")
        elif fit:
            instead.append(f"framework: {wish.framework}=={fit[0]}")
    able = [
        product for product in facts.hardware.products.values() if product.bf16 and _runs(question, Target(product))
    ]
    families = list(dict.fromkeys(p.family for p in sorted(able, key=lambda p: -(p.bf16 or 0))))[:3]
    instead += [changes.accelerators(wish.count, families)] if families else []
    return list(dict.fromkeys(instead))


def _room(question: Question, dropped: Sequence[Target]) -> list[str]:
    most = max((target.per_node or 0 for target in dropped), default=0)
    wish = question.wish
    if wish.count > most:
        return [changes.accelerators(most)]
    each = most // max(wish.count, 1)
    return [f"`processes: {each}` and `replicas: {-(-wish.processes // each)}`"] if each else []


def _can_share(question: Question, target: Target) -> bool:
    vendor = question.facts.hardware.vendors.get(target.product.vendor) if target.product else None
    return vendor is None or bool(vendor.share_resource)


TARGETS: tuple[Rule[Target], ...] = (
    Rule(
        "share",
        applies=lambda wish: wish.share is not None,
        keeps=_can_share,
        wish=lambda question: f"gives {question.wish.share:g} of itself",
        changes=lambda question, _: [changes.accelerators(1)],
    ),
    Rule(
        "features of the hardware",
        applies=lambda wish: bool(wish.features),
        keeps=lambda question, target: not _missing(question, target),
        wish=lambda question: f"has {', '.join(question.wish.features)}",
        changes=_other_features,
    ),
    Rule(
        "kernels",
        applies=lambda wish: wish.image is None,
        keeps=_runs,
        wish=lambda question: f"runs {question.wish.framework} {question.wish.version or ''}".rstrip(),
        changes=other_releases,
    ),
    Rule(
        "room",
        applies=lambda wish: wish.share is None,
        keeps=lambda question, target: target.per_node is None or question.wish.on_a_node <= target.per_node,
        wish=lambda question: f"stands {question.wish.on_a_node} times in one machine",
        changes=_room,
    ),
)


# Images


def _brings(question: Question, image: Image) -> bool:
    """The features that the framework's release or the image must have."""
    for name in question.wish.features:
        feature = question.facts.features.get(name)
        if feature is None or feature.in_image:
            if name not in image.features:
                return False
        elif not _framework_has(feature, image):
            return False
    return True


def _framework_has(feature: Feature, image: Image) -> bool:
    if not feature.framework or image.framework != feature.framework or image.version is None:
        return not feature.framework or image.framework == feature.framework or feature.name in image.features
    return image.version in feature.releases


def _without_features(question: Question, dropped: Sequence[Image]) -> list[str]:
    wish, instead = question.wish, list[str]()
    for feature in wish.known_features(question.facts):
        if feature.in_image and feature.instead:
            instead.append(changes.features(wish, [feature.instead]))
        elif feature.framework and str(feature.releases):
            instead.append(f'framework: "{feature.framework}{feature.releases}"')
    has = [changes.features(wish, [], f"{image.name} has {', '.join(image.features) or 'none'}") for image in dropped]
    return instead or has[:3]


@lru_cache(maxsize=4096)
def _has_version(wanted: str | None, image: Image) -> bool:
    return image.version is not None and image.version in specifier(wanted)


def _named(image: Image) -> tuple[bool, object, str]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else (), image.name)


def _each(change: Callable[[Question, Image], str]) -> Callable[[Question, Sequence[Image]], list[str]]:
    return lambda question, dropped: [
        change(question, image) for image in sorted(dropped, key=_named, reverse=True)[:3]
    ]


def _asking_for(image: Image) -> str:
    kind = image.accelerators[0]
    return "0" if kind == "cpu" else f"{{{kind}: 1}}"


IMAGES: tuple[Rule[Image], ...] = (
    Rule(
        "image",
        applies=lambda wish: wish.image is not None,
        keeps=lambda question, image: image.name == question.wish.image,
        wish=lambda question: f"is named {question.wish.image!r}",
        changes=_each(lambda _, image: f"image: {image.name}"),
    ),
    Rule(
        "framework",
        # A job of a framework may ask for a plain interpreter by name and bring its own packages.
        applies=lambda wish: wish.image is None,
        keeps=lambda question, image: image.framework == question.wish.framework,
        wish=lambda question: f"has {question.wish.framework}",
        changes=_each(lambda _, image: f"framework: {image.framework}"),
    ),
    Rule(
        "version",
        applies=lambda wish: wish.version is not None,
        keeps=lambda question, image: _has_version(question.wish.version, image),
        wish=lambda question: f"has {question.wish.framework} {question.wish.version}",
        changes=_each(lambda question, image: f"framework: {question.wish.framework}=={image.version}"),
    ),
    Rule(
        "features",
        applies=lambda wish: bool(wish.features),
        keeps=_brings,
        wish=lambda question: f"brings {', '.join(question.wish.features)}",
        changes=_without_features,
    ),
    Rule(
        "accelerator",
        applies=lambda _: True,
        keeps=lambda question, image: any(kind in image.accelerators for kind in question.wish.kinds or ("cpu",)),
        wish=lambda question: f"runs on {'/'.join(question.wish.kinds) or 'cpu'}",
        changes=_each(
            lambda _, image: changes.accelerators(
                _asking_for(image), why=f"{image.name} runs on {'/'.join(image.accelerators)}"
            )
        ),
    ),
)


def hint(rule: str, question: Question, dropped: Sequence[Image]) -> str:
    """What a mistyped name of an image may have meant."""
    return f"; {nearest(question.wish.image or '', [image.name for image in dropped])}" if rule == "image" else ""
