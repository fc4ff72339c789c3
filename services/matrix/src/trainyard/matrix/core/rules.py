"""The hard rules, each a row: what it lets through, what it says, and what to write instead when nothing is left.

They are asked in three tables one after the other: whether the hardware can do it at all (`TARGETS` here), which images
are meant (`core/wanted.py`), and which image runs on which hardware (`core/pairs.py`). A rule drops only for what is known;
a missing fact drops nothing, and nothing is advised that is not known to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from packaging.version import Version

from trainyard.matrix.core import changes, running
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.facts import Capability, Facts, Feature
from trainyard.matrix.core.hardware import Product
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wishes import Wish

C = TypeVar("C")
MACHINE = "x86_64"
"""Where nobody has told what the node is."""


@dataclass(frozen=True, slots=True)
class Question:
    wish: Wish
    catalogue: Catalogue
    who: str = ""
    """`role ps: `, before whatever is said of it; empty where a job has but one wish."""

    @property
    def facts(self) -> Facts:
        return self.catalogue.facts


@dataclass(frozen=True, slots=True)
class Rule(Generic[C]):
    name: str
    applies: Callable[[Wish], bool]
    keeps: Callable[[Question, C], bool]
    wish: Callable[[Question], str]
    """What was asked for, to complete "no image …" or "no accelerator …"."""
    changes: Callable[[Question, Sequence[C]], list[str]]
    """What to write instead, nearest first, given all that it dropped."""
    because: Callable[[Sequence[C]], str] = lambda _: ""
    """What is known of all that it dropped, for the message."""


def capabilities(targets: Sequence[Target]) -> str:
    """`v100 has compute capability 7.0`."""
    known = {target.product.family: target.product.capability for target in targets if target.product is not None}
    return "; ".join(
        f"{family} has compute capability {found[0]}.{found[1]}" for family, found in known.items() if found is not None
    )


def like(dropped: Sequence[Target], able: Sequence[Product]) -> list[str]:
    """The families of `able` that are nearest to what was meant: of the same stack, by compute capability. Only those whose
    bf16 rate is known, which leaves out what nobody trains on."""
    meant = [target.product for target in dropped if target.product is not None and target.product.capability]
    if not meant or meant[0].capability is None:
        return []
    major, minor = meant[0].capability

    def distance(product: Product) -> tuple[float, float]:
        theirs = product.capability or (0, 0)
        return (abs(theirs[0] + theirs[1] / 10 - major - minor / 10), product.bf16 or 0.0)

    same = [product for product in able if product.stack == meant[0].stack and product.capability and product.bf16]
    return list(dict.fromkeys(product.family for product in sorted(same, key=distance)))[:3]


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


def _surely_runs(question: Question, product: Product) -> bool:
    """Known to run, not merely not known to fail."""
    wish = question.wish
    if product.capability is None:
        return False
    return running.any_release(question.facts, wish.framework, wish.version, product.capability, MACHINE) is Fit.FULL


def _newest_image(question: Question, capability: Capability, machine: str) -> Version | None:
    """Of the wished framework, the newest release that an image here has and that is known to run."""
    catalogue, framework = question.catalogue, question.wish.framework
    for image in catalogue.members(catalogue.by_framework.get(framework, 0)):
        if running.image(question.facts, image, capability, machine) is Fit.FULL:
            return image.version
    return None


def other_releases(question: Question, dropped: Sequence[Target]) -> list[str]:
    wish, facts, instead = question.wish, question.facts, list[str]()
    for target in dropped[:2]:
        product = target.product
        if product is None or product.capability is None:
            continue
        machine = target.machine or MACHINE
        newest = _newest_image(question, product.capability, machine) or running.newest_release(
            facts, wish.framework, product.capability, machine
        )
        floor = facts.floor(wish.framework, product.capability)
        if floor is not None:
            instead.append(f"framework: {wish.framework}>={floor.release.major}.{floor.release.minor}")
        elif newest is not None:
            instead.append(f"framework: {wish.framework}=={newest}")
    able = [product for product in facts.hardware.products.values() if _surely_runs(question, product)]
    families = like(dropped, able)
    instead += [changes.accelerators(wish.count, families)] if families else []
    return list(dict.fromkeys(instead))


def _largest(dropped: Sequence[Target]) -> str:
    return f"the largest machine has {max((target.per_node or 0 for target in dropped), default=0)}"


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
        because=capabilities,
    ),
    Rule(
        "kernels",
        applies=lambda wish: wish.image is None,
        keeps=_runs,
        wish=lambda question: f"runs {question.wish.framework} {question.wish.version or ''}".rstrip(),
        changes=other_releases,
        because=capabilities,
    ),
    Rule(
        "room",
        applies=lambda wish: wish.share is None,
        keeps=lambda question, target: target.per_node is None or question.wish.on_a_node <= target.per_node,
        wish=lambda question: f"stands {question.wish.on_a_node} times in one machine",
        changes=_room,
        because=_largest,
    ),
)
