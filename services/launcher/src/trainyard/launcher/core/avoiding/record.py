"""What the log says of one node: a fold over ends of attempts and over what people have said. Pure.

Every launcher folds the same log in the same order, so all have one view, and one that starts anew has it again. Strikes are
for the node that it was: another one under the same name begins with none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainyard.common.contract.nodes import BY_ITSELF, Blamed, Machine, NodeAvoided, NodeEvent

MOST_STRIKES = 128
WELL = 600.0  # seconds for which a job that succeeded must have run there since the last strike, to speak for a node
REMEMBERED = 7 * 86_400.0  # seconds for which a node's last time of being avoided counts


@dataclass(frozen=True, slots=True)
class Strike:
    job_id: str
    attempt: int
    at: float
    """Unix seconds."""
    reason: str


@dataclass(frozen=True, slots=True)
class Record:
    machine: Machine
    strikes: tuple[Strike, ...] = ()
    """Since it was avoided or forgiven last; the newest last."""
    asked: frozenset[str] = frozenset()
    """Extended resources that the jobs had which met trouble there: one without them proves nothing."""
    until: float = 0.0
    """Unix seconds until which all jobs avoid it."""
    why: str = ""
    by: str = ""
    lasted: float = 0.0
    """Seconds of the last time that it was avoided without anybody having said so; 0: never, or it has done well since."""
    seq: int = 0
    """Of the node's last event; 0: it has none."""
    heard: float = 0.0
    """When something was told of it last (Unix seconds)."""
    well: str = ""
    """What speaks for it since, while it is avoided."""

    def avoided(self, now: float) -> bool:
        return self.until > now

    @property
    def since(self) -> float:
        """When it was last avoided without anybody having said so."""
        return self.until - self.lasted if self.lasted else 0.0

    @property
    def by_hand(self) -> bool:
        return self.by != BY_ITSELF

    @property
    def words(self) -> str:
        """Why it is avoided, and who says so where somebody does."""
        said = [self.by, self.why] if self.by_hand else [self.why]
        return ": ".join(part for part in said if part)

    def is_of(self, machine: Machine) -> bool:
        """Whether it speaks of this very node. Somebody may have named a node of which nobody knew which it was."""
        return self.machine.is_same(machine) or (self.machine.uid is None and self.machine.node == machine.node)


def struck(before: Record | None, blamed: Blamed, strike: Strike, asked: Iterable[str]) -> Record | None:
    """The record after the end of an attempt. A node of which nobody knew which one it was is gone already."""
    if blamed.uid is None:
        return before
    machine = Machine(node=blamed.node, uid=blamed.uid, boot=blamed.boot)
    known = before if before is not None and before.is_of(machine) else Record(machine, seq=before.seq if before else 0)
    return replace(
        known,
        machine=machine,
        strikes=(*known.strikes, strike)[-MOST_STRIKES:],
        asked=known.asked | {*asked},
        heard=strike.at,
        well="",
    )


def succeeded(record: Record, job_id: str, began: float, at: float, asked: Iterable[str]) -> Record:
    """The record after a job has ended well there. Clears it where the job ran for long enough since the last trouble, and
    had what the jobs had that met trouble."""
    newest = max((strike.at for strike in record.strikes), default=record.since)
    if at - max(began, newest) < WELL or not record.asked <= {*asked}:
        return record
    well = f"job {job_id} has run there since and succeeded" if record.avoided(at) and not record.by_hand else ""
    return replace(record, strikes=(), lasted=0.0, well=well, asked=record.asked if well else frozenset())


def told(before: Record | None, event: NodeEvent, seq: int, at: float) -> Record:
    """The record after it was said that the node is avoided, or is so no more."""
    known = before if before is not None and before.is_of(event.machine) else None
    if not isinstance(event, NodeAvoided):
        return Record(event.machine, seq=seq, heard=at)
    by_itself = event.by == BY_ITSELF
    return Record(
        event.machine,
        asked=known.asked if known is not None else frozenset(),
        until=at + event.seconds,
        why=event.message,
        by=event.by,
        lasted=event.seconds if by_itself else known.lasted if known is not None else 0.0,
        seq=seq,
        heard=at,
    )


def over(record: Record, now: float) -> bool:
    """It says nothing any more that could matter."""
    return now > max(record.until, record.heard) + REMEMBERED
