"""From a job's wishes to one image and accelerator, or to a refusal that names what would work. Pure.

Read the wish, list the hardware that it may mean, then ask the rules (`core/rules.py`): each takes the candidates that are
left and says which it kept and why it dropped the others; the reasons are the answer to "why this image?" and "why none?".
What is left is scored. When a rule leaves nothing, the candidates that it dropped last were the nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from trainyard.common.contract.events import Reason, Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.core import changes, pairs, rules, running, scoring, targets, wanted, wishes
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.hardware import Vendor
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.inventory import Inventory
from trainyard.matrix.core.pairs import Pair
from trainyard.matrix.core.rules import Question, Rule
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wanted import ImageRule
from trainyard.matrix.core.wishes import Fault, Wish

C = TypeVar("C")
NO_INVENTORY = Inventory()
_SHOWN = 6  # candidates that a reason names one by one


@dataclass(frozen=True, slots=True)
class Rejection:
    message: str
    nearest: tuple[str, ...]
    reasons: tuple[Reason, ...]


class _Refused(Exception):
    def __init__(self, message: str, nearest: Sequence[str]) -> None:
        super().__init__(message)
        self.nearest = tuple(nearest)


def resolve(spec: JobSpec, catalogue: Catalogue, inventory: Inventory = NO_INVENTORY) -> Resolution | Rejection:
    """Image and accelerator for a job, with the reasoning either way."""
    reasons: list[Reason] = []
    try:
        wish = _sound(wishes.read(spec, catalogue.facts, catalogue.features), reasons)
        places = _sound(targets.of(wish, inventory), reasons)
        return _choose(Question(wish, catalogue), places, reasons)
    except _Refused as refusal:
        return Rejection(str(refusal), refusal.nearest, tuple(reasons))


def _choose(question: Question, places: list[Target], reasons: list[Reason]) -> Resolution:
    catalogue, asked = question.catalogue, bool(places)
    _needs_hardware(question, reasons)
    for on_targets in rules.TARGETS:
        if asked:
            places = _ask(on_targets, question, places, reasons, "accelerator", Target.describe)
    left = catalogue.every
    for on_images in wanted.RULES:
        left = _narrow(on_images, question, left, reasons)
    if not asked:
        best = max(catalogue.members(left), key=scoring.of_image)
        reasons.append(Reason(rule="choice", text=f"newest of what is left: {best.describe()}"))
        return _resolution(question, best, Target(None), reasons)
    image, place = _pair(question, left, places, reasons)
    extras = scoring.of_use(catalogue, image, place)
    why = f" with {', '.join(extras)}" if extras else ""
    reasons.append(Reason(rule="choice", text=f"best of what is left: {image.describe()} on {place.describe()}{why}"))
    return _resolution(question, image, place, reasons)


def _pair(question: Question, left: int, places: list[Target], reasons: list[Reason]) -> Pair:
    """The best image on the best hardware."""
    catalogue, sets = question.catalogue, [left] * len(places)
    for rule in pairs.RULES:
        kept = [bits & rule.keeps(catalogue, place) for bits, place in zip(sets, places, strict=True)]
        wish = rule.wish(question)
        text = f"{wish}: {_shown_pairs(catalogue, kept, places) or 'none'}"
        dropped = [before & ~after for before, after in zip(sets, kept, strict=True)]
        not_these = _shown_pairs(catalogue, dropped, places)
        details = (f"not: {not_these}",) if not_these else ()
        reasons.append(Reason(rule=rule.name, text=text, passed=any(kept), details=details))
        if not any(kept):
            lost = [
                (image, place) for bits, place in zip(dropped, places, strict=True) for image in catalogue.members(bits)
            ]
            raise _Refused(f"no image {wish}{_in_brackets(rule.because(places))}", rule.changes(question, lost))
        sets = kept
    return _best_pair(question, sets, places)


def _best_pair(question: Question, sets: Sequence[int], places: Sequence[Target]) -> Pair:
    catalogue, newest_first = question.catalogue, question.wish.newest
    preferred = min(place.rank for bits, place in zip(sets, places, strict=True) if bits)
    found = [
        (image, place)
        for bits, place in zip(sets, places, strict=True)
        if place.rank == preferred
        and (image := scoring.best(catalogue, bits, place, newest_first=newest_first)) is not None
    ]
    return max(found, key=lambda pair: scoring.score(catalogue, *pair, newest_first=newest_first))


def _shown_pairs(catalogue: Catalogue, sets: Sequence[int], places: Sequence[Target]) -> str:
    """The images of each sort of hardware, the first few by name."""
    shown = islice(((bits, place) for bits, place in zip(sets, places, strict=True) if bits), _SHOWN)
    return "; ".join(f"{_names(catalogue, bits, 3)} on {place.describe()}" for bits, place in shown)


def _names(catalogue: Catalogue, bits: int, most: int) -> str:
    names = ", ".join(image.name for image in islice(catalogue.members(bits), most))
    return f"{names} and {bits.bit_count() - most} more" if bits.bit_count() > most else names


def _narrow(rule: ImageRule, question: Question, left: int, reasons: list[Reason]) -> int:
    """The images of a set that the rule keeps. Raises _Refused when that is none."""
    if not rule.applies(question.wish):
        return left
    catalogue, wish = question.catalogue, rule.wish(question)
    kept = left & rule.keeps(question)
    dropped = left & ~kept
    details = (f"not: {_names(catalogue, dropped, _SHOWN)}",) if dropped else ()
    text = f"{wish}: {_names(catalogue, kept, _SHOWN) or 'none'}"
    reasons.append(Reason(rule=rule.name, text=text, passed=bool(kept), details=details))
    if not kept:
        lost = list(catalogue.members(dropped))
        raise _Refused(f"no image {wish}{wanted.hint(rule.name, question, lost)}", rule.changes(question, lost))
    return kept


def _ask(
    rule: Rule[C], question: Question, left: list[C], reasons: list[Reason], noun: str, name: Callable[[C], str]
) -> list[C]:
    """What the rule keeps. Raises _Refused when that is nothing."""
    if not rule.applies(question.wish):
        return left
    kept, dropped = list[C](), list[C]()
    for candidate in left:
        (kept if rule.keeps(question, candidate) else dropped).append(candidate)
    wish = rule.wish(question)
    text = f"{wish}: {', '.join(map(name, kept[:_SHOWN])) or 'none'}{_more(kept)}"
    details = (f"not: {', '.join(map(name, dropped[:_SHOWN]))}{_more(dropped)}",) if dropped else ()
    reasons.append(Reason(rule=rule.name, text=text, passed=bool(kept), details=details))
    if not kept:
        raise _Refused(f"no {noun} {wish}{_in_brackets(rule.because(dropped))}", rule.changes(question, dropped))
    return kept


def _more(candidates: Sequence[object]) -> str:
    return f" and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _needs_hardware(question: Question, reasons: list[Reason]) -> None:
    if question.wish.kinds:
        return
    for feature in question.wish.known_features(question.facts):
        if not feature.on_cpu:
            text = f"{feature.name} needs an accelerator ({feature.meaning}), and none is asked for"
            reasons.append(Reason(rule="features of the hardware", text=text, passed=False))
            raise _Refused(text, (changes.accelerators(1),))


def _sound(value: C | Fault, reasons: list[Reason]) -> C:
    if isinstance(value, Fault):
        reasons.append(Reason(rule=value.rule, text=value.text, passed=False))
        raise _Refused(value.text, value.nearest)
    return value


def _resolution(question: Question, image: Image, place: Target, reasons: list[Reason]) -> Resolution:
    wish, product = question.wish, place.product
    vendors = question.facts.hardware.vendors
    vendor = wish.vendor or (vendors.get(product.vendor) if product is not None else _by_stack(image, vendors.values()))
    labelled = vendor is not None and bool(vendor.label) and place.called is not None
    return Resolution(
        image=image.name,
        framework_version=str(image.version) if image.version else None,
        accelerator=product.kind if product is not None else next(iter(wish.kinds), "cpu"),
        product=product.name if product is not None else None,
        resources=_resources(wish, vendor) if wish.kinds else {},
        node_labels={vendor.label: place.called} if labelled and vendor is not None and place.called else {},
        visible=(vendor.visible or None) if vendor is not None and wish.kinds else None,
        reference=image.reference,
        notes=tuple(_notes(question, image, place)),
        reasons=tuple(reasons),
    )


def _by_stack(image: Image, vendors: Iterable[Vendor]) -> Vendor | None:
    return next((vendor for vendor in vendors if image.stack and vendor.stack == image.stack), None)


def _resources(wish: Wish, vendor: Vendor | None) -> dict[str, float]:
    if wish.resource is not None:
        return {wish.resource: wish.count}
    if vendor is None:
        return {}
    share = {vendor.share_resource: round(wish.share * 100)} if wish.share is not None and vendor.share_resource else {}
    return {vendor.resource: wish.count, **share}


def _notes(question: Question, image: Image, place: Target) -> list[str]:
    notes = []
    if running.on_driver(question.facts, image, place.driver) is Fit.LIMITED:
        full = question.facts.drivers[image.cuda].full
        notes.append(
            f"driver {place.driver} runs CUDA {image.cuda} with limits (no compiling of newer PTX); {full} has none"
        )
    if place.product is not None and place.product.capability is None and question.wish.features:
        notes.append(f"nobody has told whether {place.product.name} has {', '.join(question.wish.features)}")
    return notes
