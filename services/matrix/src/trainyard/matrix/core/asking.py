"""Asking the rules one after the other, and writing down what each said.

Whatever a rule keeps goes on to the next one; when it keeps nothing, the candidates that it dropped last were the nearest to
what was wished, and the rule knows what to write instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from trainyard.common.contract.events import Reason
from trainyard.matrix.core import changes, pairs, rules, targets, wanted
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.inventory import Inventory
from trainyard.matrix.core.rules import Question, Rule
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wanted import ImageRule
from trainyard.matrix.core.wishes import Fault

C = TypeVar("C")
_SHOWN = 6  # candidates that a reason names one by one


class Refused(Exception):
    """Nothing is left. `nearest`: what to write instead; `roles`: where, if the job names roles."""

    def __init__(self, message: str, nearest: Sequence[str], roles: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.nearest = tuple(f"in {_places(roles)}: {text}" if _is_of_a_role(text, roles) else text for text in nearest)


@dataclass(frozen=True, slots=True)
class Left:
    """What every rule let through: images on each sort of hardware, or images alone where no accelerator is wished."""

    question: Question
    images: int
    places: tuple[Target, ...]
    sets: tuple[int, ...]
    """For each of `places` the images that run there."""


def ask_all(question: Question, inventory: Inventory, reasons: list[Reason]) -> Left:
    """Raises Refused."""
    places = sound(targets.of(question.wish, inventory), reasons, question)
    _needs_hardware(question, reasons)
    for on_targets in rules.TARGETS if places else ():
        places = _of_targets(on_targets, question, places, reasons)
    images = question.catalogue.every
    for on_images in wanted.RULES:
        images = _of_images(on_images, question, images, reasons)
    for here, on_place in (
        (inventory.only_machines, wanted.ON_MACHINES),
        (inventory.only_containers, wanted.IN_CONTAINERS),
    ):
        if here:
            images = _of_images(on_place, question, images, reasons)
    sets = [images] * len(places)
    for on_pairs in pairs.RULES if places else ():
        sets = _of_pairs(on_pairs, question, sets, places, reasons)
    return Left(question, images, tuple(places), tuple(sets))


def sound(value: C | Fault, reasons: list[Reason], question: Question | None = None) -> C:
    if isinstance(value, Fault):
        reasons.append(_reason(question, value.rule, value.text, passed=False))
        roles = value.roles or (question.wish.roles if question is not None else ())
        raise Refused(f"{question.who if question is not None else ''}{value.text}", value.nearest, roles)
    return value


def _of_targets(rule: Rule[Target], question: Question, left: list[Target], reasons: list[Reason]) -> list[Target]:
    if not rule.applies(question.wish):
        return left
    kept, dropped = list[Target](), list[Target]()
    for place in left:
        (kept if rule.keeps(question, place) else dropped).append(place)
    wish, shown = rule.wish(question), [place.describe() for place in kept[:_SHOWN]]
    not_these = [place.describe() for place in dropped[:_SHOWN]]
    details = (f"not: {', '.join(not_these)}{_more(dropped)}",) if dropped else ()
    text = f"{wish}: {', '.join(shown) or 'none'}{_more(kept)}"
    reasons.append(_reason(question, rule.name, text, details, passed=bool(kept)))
    if not kept:
        message = f"{question.who}no accelerator {wish}{_in_brackets(rule.because(dropped))}"
        raise Refused(message, rule.changes(question, dropped), question.wish.roles)
    return kept


def _of_images(rule: ImageRule, question: Question, left: int, reasons: list[Reason]) -> int:
    if not rule.applies(question.wish):
        return left
    catalogue, wish = question.catalogue, rule.wish(question)
    kept = left & rule.keeps(question)
    dropped = left & ~kept
    details = (f"not: {_names(catalogue, dropped, _SHOWN)}",) if dropped else ()
    text = f"{wish}: {_names(catalogue, kept, _SHOWN) or 'none'}"
    reasons.append(_reason(question, rule.name, text, details, passed=bool(kept)))
    if not kept:
        lost = list(catalogue.members(dropped))
        message = f"{question.who}no image {wish}{wanted.hint(rule.name, question, lost)}"
        raise Refused(message, rule.changes(question, lost), question.wish.roles)
    return kept


def _of_pairs(
    rule: pairs.PairRule, question: Question, sets: Sequence[int], places: Sequence[Target], reasons: list[Reason]
) -> list[int]:
    catalogue = question.catalogue
    kept = [bits & rule.keeps(catalogue, place) for bits, place in zip(sets, places, strict=True)]
    wish = rule.wish(question)
    text = f"{wish}: {_shown_pairs(catalogue, kept, places) or 'none'}"
    dropped = [before & ~after for before, after in zip(sets, kept, strict=True)]
    not_these = _shown_pairs(catalogue, dropped, places)
    details = (f"not: {not_these}",) if not_these else ()
    reasons.append(_reason(question, rule.name, text, details, passed=any(kept)))
    if not any(kept):
        lost = [
            (image, place) for bits, place in zip(dropped, places, strict=True) for image in catalogue.members(bits)
        ]
        message = f"{question.who}no image {wish}{_in_brackets(rule.because(places))}"
        raise Refused(message, rule.changes(question, lost), question.wish.roles)
    return kept


def _needs_hardware(question: Question, reasons: list[Reason]) -> None:
    if question.wish.kinds:
        return
    for feature in question.wish.known_features(question.facts):
        if not feature.on_cpu:
            text = f"{feature.name} needs an accelerator ({feature.meaning}), and none is asked for"
            reasons.append(_reason(question, "features of the hardware", text, passed=False))
            raise Refused(text, (changes.accelerators(1),), question.wish.roles)


def _reason(
    question: Question | None, rule: str, text: str, details: tuple[str, ...] = (), *, passed: bool = True
) -> Reason:
    who = question.who if question is not None else ""
    return Reason(rule=rule, text=f"{who}{text}", passed=passed, details=details)


def _shown_pairs(catalogue: Catalogue, sets: Sequence[int], places: Sequence[Target]) -> str:
    """The images of each sort of hardware, the first few by name."""
    shown = islice(((bits, place) for bits, place in zip(sets, places, strict=True) if bits), _SHOWN)
    return "; ".join(f"{_names(catalogue, bits, 3)} on {place.describe()}" for bits, place in shown)


def _names(catalogue: Catalogue, bits: int, most: int) -> str:
    names = ", ".join(image.name for image in islice(catalogue.members(bits), most))
    return f"{names} and {bits.bit_count() - most} more" if bits.bit_count() > most else names


def _more(candidates: Sequence[object]) -> str:
    return f" and {len(candidates) - _SHOWN} more" if len(candidates) > _SHOWN else ""


def _in_brackets(words: str) -> str:
    return f" ({words})" if words else ""


def _is_of_a_role(change: str, roles: Sequence[str]) -> bool:
    """A job that names roles says `resources` inside each of them."""
    return bool(roles) and change.startswith("resources:")


def _places(roles: Sequence[str]) -> str:
    return " and ".join(f"roles.{role}" for role in roles)
