"""The one table of a job's life and the pure step over it.

Every writer decides with `step` before it appends, and every projection folds with `step` after it reads, so all of
them agree on the state. The target state depends on the event alone (some, as progress, change nothing);
that is why the last event of each kind is enough to know where a job stands, however long its history is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from trainyard.common.errors import Conflict
from trainyard.common.lifecycle.states import ACTIVE, State

if TYPE_CHECKING:
    from trainyard.common.contract.events import JobEvent


class Effect(StrEnum):
    """What somebody has to do because of an event; `tests/architecture` checks that somebody listens for each."""

    RESOLVE = "resolve"  # matrix: find an image and hardware
    PLACE = "place"  # launcher: admit and start
    WATCH = "watch"  # launcher: follow the ranks
    KILL = "kill"  # launcher: end the ranks
    RELEASE = "release"  # launcher: give the resources back
    CONVERT = "convert"  # converter: act on the job's `convert:` block


@dataclass(frozen=True, slots=True)
class Rule:
    sources: frozenset[State | None]
    target: State | None  # None: the state stays
    effects: tuple[Effect, ...] = ()


def _from(*sources: State | None) -> frozenset[State | None]:
    return frozenset(sources)


_S = State
RULES: dict[str, Rule] = {
    "submitted": Rule(_from(None), _S.SUBMITTED, (Effect.RESOLVE,)),
    "resolved": Rule(_from(_S.SUBMITTED), _S.RESOLVED, (Effect.PLACE,)),
    "rejected": Rule(_from(_S.SUBMITTED, _S.RESOLVED), _S.REJECTED),
    "queued": Rule(_from(_S.RESOLVED, _S.QUEUED, _S.RESTARTING, _S.SUSPENDED), _S.QUEUED, (Effect.PLACE,)),
    "starting": Rule(_from(_S.RESOLVED, _S.QUEUED, _S.RESTARTING, _S.SUSPENDED), _S.STARTING, (Effect.WATCH,)),
    "pending": Rule(_from(_S.STARTING, _S.RUNNING), None),
    "running": Rule(_from(_S.STARTING), _S.RUNNING, (Effect.WATCH,)),
    "progress": Rule(_from(_S.RUNNING), None),
    "restarting": Rule(_from(_S.STARTING, _S.RUNNING), _S.RESTARTING, (Effect.RELEASE, Effect.PLACE)),
    "resized": Rule(frozenset(ACTIVE - {_S.SUBMITTED, _S.CANCELLING}), None, (Effect.PLACE,)),
    "suspending": Rule(
        _from(_S.RESOLVED, _S.QUEUED, _S.STARTING, _S.RUNNING, _S.RESTARTING), _S.SUSPENDING, (Effect.KILL,)
    ),
    "suspended": Rule(
        _from(_S.RESOLVED, _S.QUEUED, _S.STARTING, _S.RUNNING, _S.RESTARTING, _S.SUSPENDING),
        _S.SUSPENDED,
        (Effect.RELEASE,),
    ),
    "cancelling": Rule(frozenset(ACTIVE - {_S.CANCELLING}), _S.CANCELLING, (Effect.KILL,)),
    "succeeded": Rule(_from(_S.RUNNING), _S.SUCCEEDED, (Effect.RELEASE, Effect.CONVERT)),
    "failed": Rule(frozenset(ACTIVE - {_S.SUBMITTED, _S.CANCELLING}), _S.FAILED, (Effect.RELEASE,)),
    "cancelled": Rule(_from(_S.CANCELLING), _S.CANCELLED, (Effect.RELEASE,)),
    "lost": Rule(
        _from(_S.STARTING, _S.RUNNING, _S.RESTARTING, _S.SUSPENDING, _S.CANCELLING), _S.LOST, (Effect.RELEASE,)
    ),
}


@dataclass(frozen=True, slots=True)
class Head:
    """Where a job stands: the fold of its events. `seq` is the last stream sequence seen of the job (0: none)."""

    job_id: str
    state: State | None = None
    seq: int = 0
    attempt: int = 0
    path: tuple[str, ...] = ()  # the kinds that led here, newest last, bounded; for messages and logs

    @property
    def terminal(self) -> bool:
        return self.state is not None and self.state.terminal


class IllegalTransition(Conflict):
    def __init__(self, head: Head, kind: str) -> None:
        self.head = head
        self.kind = kind
        history = " → ".join(head.path) or "nothing"
        state = head.state.value if head.state else "unknown"
        super().__init__(f"job {head.job_id} is {state}; {kind!r} cannot follow {history}")


def allows(head: Head, kind: str) -> bool:
    rule = RULES.get(kind)
    return rule is not None and head.state in rule.sources


def step(head: Head, event: JobEvent, seq: int = 0) -> tuple[Head, tuple[Effect, ...]]:
    """The state after `event`, and what follows from it. Raises IllegalTransition; never mutates.

    `seq` is the event's stream sequence when it is known (0 while it is only a decision).
    """
    if not allows(head, event.kind):
        raise IllegalTransition(head, event.kind)
    rule = RULES[event.kind]
    if rule.target is None:
        return replace(head, seq=seq or head.seq), rule.effects
    after = Head(
        job_id=head.job_id,
        state=rule.target,
        seq=seq or head.seq,
        attempt=getattr(event, "attempt", head.attempt),
        path=(*head.path[-15:], event.kind),
    )
    return after, rule.effects


def fold(job_id: str, events: Iterable[tuple[int, JobEvent]]) -> Head:
    """The head after the last event of each kind, in sequence order (the module's docstring says why that is enough).

    Gaps are expected here, so legality is not asked again: each of these events was legal when it was appended.
    """
    head = Head(job_id)
    for seq, event in sorted(events, key=lambda pair: pair[0]):
        target = RULES[event.kind].target
        head = Head(
            job_id=job_id,
            state=target or head.state,
            seq=seq,
            attempt=getattr(event, "attempt", head.attempt) if target else head.attempt,
            path=(*head.path[-15:], event.kind) if target else head.path,
        )
    return head
