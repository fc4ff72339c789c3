"""From a job's wishes to one image and its accelerators, or to a refusal that names what would work. Pure.

Read the wishes, list the hardware that each may mean, then ask the rules (`core/asking.py`): each takes the candidates that
are left and says which it kept and why it dropped the others; the reasons are the answer to "why this image?" and "why
none?". What is left is scored.

A job has one image. Where its roles ask for different accelerators every request is asked by itself, and the image must be
left for all of them; then each gets the best of its own hardware for that image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainyard.common.contract.events import Reason, Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.core import changes, scoring, wishes
from trainyard.matrix.core.asking import Left, Refused, ask_all, sound
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.inventory import Inventory
from trainyard.matrix.core.outcome import Chosen, resolution
from trainyard.matrix.core.pairs import Pair, asked
from trainyard.matrix.core.rules import Question
from trainyard.matrix.core.targets import Target
from trainyard.matrix.core.wishes import Wish

NO_INVENTORY = Inventory()


@dataclass(frozen=True, slots=True)
class Rejection:
    message: str
    nearest: tuple[str, ...]
    reasons: tuple[Reason, ...]


def resolve(spec: JobSpec, catalogue: Catalogue, inventory: Inventory = NO_INVENTORY) -> Resolution | Rejection:
    """Image and accelerators for a job, with the reasoning either way."""
    reasons: list[Reason] = []
    try:
        read = sound(wishes.read(spec, catalogue.facts, catalogue.features), reasons)
        left = [ask_all(Question(wish, catalogue, _who(wish, read)), inventory, reasons) for wish in read]
        image, chosen = _choose(left, reasons)
        return resolution(spec, image, chosen, reasons)
    except Refused as refusal:
        return Rejection(str(refusal), refusal.nearest, tuple(reasons))


def _who(wish: Wish, all_of_them: Sequence[Wish]) -> str:
    if len(all_of_them) == 1:
        return ""
    return f"role{'s' if len(wish.roles) > 1 else ''} {' and '.join(wish.roles)}: "


def _choose(left: Sequence[Left], reasons: list[Reason]) -> tuple[Image, list[Chosen]]:
    first, catalogue = left[0], left[0].question.catalogue
    if not first.places:
        image = max(catalogue.members(first.images), key=scoring.of_image)
        reasons.append(Reason(rule="choice", text=f"newest of what is left: {image.describe()}"))
        return image, [Chosen(first.question, Target(None))]
    common = _common(left, reasons) if len(left) > 1 else catalogue.every
    image, _ = _best(first, common)
    chosen = [Chosen(each.question, _best(each, catalogue.by_name[image.name])[1]) for each in left]
    for each in chosen:
        extras = scoring.of_use(catalogue, image, each.place)
        why = f" with {', '.join(extras)}" if extras else ""
        text = f"best of what is left: {image.describe()} on {each.place.describe()}{why}"
        reasons.append(Reason(rule="choice", text=f"{each.question.who}{text}"))
    return image, chosen


def _common(left: Sequence[Left], reasons: list[Reason]) -> int:
    """The images that are left for every request. Raises Refused when that is none."""
    common = left[0].question.catalogue.every
    for each in left:
        common &= _anywhere(each)
    asking = [f"{each.question.who}{asked(each.question)}" for each in left]
    wish = f"runs on what every role asks for ({'; '.join(asking)})"
    names = ", ".join(image.name for image in left[0].question.catalogue.members(common))
    reasons.append(Reason(rule="one image", text=f"{wish}: {names or 'none'}", passed=bool(common)))
    if common:
        return common
    instead = [text for other in left[1:] for text in _like_the_first(left[0], other)]
    apart = f"a job of its own for {' and '.join(left[-1].question.wish.roles)}"
    raise Refused(f"no image {wish}, and a job has one image", [*instead, apart])


def _anywhere(left: Left) -> int:
    bits = 0
    for images in left.sets:
        bits |= images
    return bits


def _like_the_first(first: Left, other: Left) -> list[str]:
    """The accelerators of the first request for another one, where so many of them stand in one machine."""
    wish = other.question.wish
    room = [place.per_node for bits, place in zip(first.sets, first.places, strict=True) if bits]
    if all(most is not None and most < wish.on_a_node for most in room):
        return []
    names = asked(first.question).split("/" if not first.question.wish.products else ", ")
    where = " and ".join(f"roles.{role}" for role in wish.roles)
    return [f"in {where}: {changes.accelerators(wish.count, names)}"]


def _best(left: Left, images: int) -> Pair:
    """Of some images, which are left for this request, the best on the best hardware."""
    question = left.question
    catalogue, newest_first = question.catalogue, question.wish.newest
    sets = [(bits & images, place) for bits, place in zip(left.sets, left.places, strict=True)]
    preferred = min(place.rank for bits, place in sets if bits)
    found = [
        (image, place)
        for bits, place in sets
        if place.rank == preferred
        and (image := scoring.best(catalogue, bits, place, newest_first=newest_first)) is not None
    ]
    return max(found, key=lambda pair: scoring.score(catalogue, *pair, newest_first=newest_first))
