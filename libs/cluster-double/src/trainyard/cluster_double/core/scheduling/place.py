"""Where a pod goes: the emptiest node that takes it, or the words for why there is none, or whom it pushes out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trainyard.cluster_double.core.objects import Json, has_condition, is_deleting, meta, name_of, spec_of, status_of
from trainyard.cluster_double.core.quantities import amount
from trainyard.cluster_double.core.scheduling.filters import Room, barred, lacking
from trainyard.cluster_double.core.scheduling.neighbours import apart

NO_NODES = "no nodes available to schedule pods"
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NO_HELP = "Preemption is not helpful for scheduling"


@dataclass(frozen=True, slots=True)
class Placement:
    node: str = ""
    """Empty when the pod must wait."""
    message: str = ""
    victims: tuple[Json, ...] = ()
    nominated: str = ""
    """The node that the victims make free."""


def place(pod: Json, rooms: Mapping[str, Room]) -> Placement:
    if not rooms:
        return Placement(message=NO_NODES)
    fitting: list[Room] = []
    reasons: Counter[str] = Counter()
    helpless = 0
    for room in rooms.values():
        fixed = barred(pod, room) or apart(pod, room, rooms)
        short = [] if fixed else lacking(pod, room)
        reasons.update([fixed] if fixed else short)
        helpless += bool(fixed) or (bool(short) and bool(lacking(pod, room, room.pods.values())))
        if not fixed and not short:
            fitting.append(room)
    if fitting:
        best = min(fitting, key=lambda room: (-_freedom(room), name_of(room.node)))
        return Placement(node=name_of(best.node))
    words = f"0/{len(rooms)} nodes are available: {_listed(reasons)}."
    barrier = _may_not_push(pod, rooms)
    if barrier is not None:
        return Placement(message=f"{words} no new claims to deallocate, preemption: {barrier}")
    push = _preempt(pod, rooms)
    if push is not None:
        return Placement(message=words, victims=push[1], nominated=push[0])
    tail: Counter[str] = Counter({_NO_HELP: helpless, _NO_VICTIMS: len(rooms) - helpless})
    preemption = f"preemption: 0/{len(rooms)} nodes are available: {_listed(tail)}."
    return Placement(message=f"{words} no new claims to deallocate, {preemption}")


def _listed(reasons: Counter[str]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items() if count))


def _freedom(room: Room) -> Fraction:
    """The share of cpu and memory that is free."""
    shares = []
    for name in ("cpu", "memory"):
        whole = amount(room.allocatable.get(name, "0"))
        shares.append(1 - room.used.get(name, Fraction(0)) / whole if whole else Fraction(0))
    return sum(shares, Fraction(0))


def _may_not_push(pod: Json, rooms: Mapping[str, Room]) -> str | None:
    """Why a pod may push nobody out now; None when it may."""
    if spec_of(pod).get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    room = rooms.get(status_of(pod).get("nominatedNodeName") or "")
    mine = int(spec_of(pod).get("priority") or 0)
    for one in room.pods.values() if room is not None else ():
        # The room that it was promised is being made: no more must go for it.
        if (
            int(spec_of(one).get("priority") or 0) < mine
            and is_deleting(one)
            and has_condition(one, "DisruptionTarget")
        ):
            return "not eligible due to a terminating pod on the nominated node."
    return None


def _preempt(pod: Json, rooms: Mapping[str, Room]) -> tuple[str, tuple[Json, ...]] | None:
    """The node where the fewest and least important pods must go, and those pods."""
    mine = int(spec_of(pod).get("priority") or 0)
    found: list[tuple[int, int, str, tuple[Json, ...]]] = []
    for name, room in rooms.items():
        if barred(pod, room):
            continue
        victims = _victims(pod, room, mine)
        if victims:
            highest = max(int(spec_of(one).get("priority") or 0) for one in victims)
            found.append((highest, len(victims), name, tuple(victims)))
    if not found:
        return None
    _, _, name, victims = min(found, key=lambda entry: entry[:3])
    return name, victims


def _victims(pod: Json, room: Room, mine: int) -> Sequence[Json] | None:
    lesser = [one for one in room.pods.values() if int(spec_of(one).get("priority") or 0) < mine]
    if not lesser or lacking(pod, room, lesser):
        return None
    chosen = sorted(
        lesser, key=lambda one: (-int(spec_of(one).get("priority") or 0), str(meta(one).get("creationTimestamp")))
    )
    victims = list(chosen)
    for one in chosen:
        # The more important are spared as long as it fits without them.
        rest = [other for other in victims if other is not one]
        if not lacking(pod, room, rest):
            victims = rest
    return victims
