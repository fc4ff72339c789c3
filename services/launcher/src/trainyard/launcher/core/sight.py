"""What a decision is made from, and what it can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trainyard.common.contract import events
from trainyard.launcher.core.avoiding.nodes import Anywhere, Nodes
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen

MOST_ENDINGS = 256

Tail = Callable[[int], Sequence[str]]
"""Rank → its last log lines."""


@dataclass(frozen=True, slots=True)
class Append:
    event: events.JobEvent


@dataclass(frozen=True, slots=True)
class Start:
    """Make the ranks that are absent."""


@dataclass(frozen=True, slots=True)
class Stop:
    why: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until something changes."""

    seconds: float | None = None
    """At most so long, where only time brings it; None: as long as the backend thinks fit."""


Decision = Append | Start | Stop | Wait


@dataclass(frozen=True, slots=True)
class Room:
    """Whether the size that was asked for is to be had: now, where nothing is said."""

    waits: str = ""
    """Why not yet."""
    fault: str = ""
    """Why never."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Everything that a decision is made from."""

    job: Job
    ranks: Sequence[RankSeen]
    now: float
    """Unix seconds."""
    last_progress: float | None
    backend: str
    node: str
    outputs: str | None
    tail: Tail
    devices: tuple[tuple[str, ...], ...] = ()
    """Rank → accelerators that admission gave it."""
    heard_all: bool = True
    """Whether the log lines of the ranks that have ended are here, all of them."""
    nodes: Nodes = field(default_factory=Anywhere)
    """What is known of them."""
    room: Room | None = None
    """For the size that was asked for; None: it has that, or nobody has looked yet."""
    told: str = ""
    """Why it does not run yet, as the log was told last."""

    def endings(self) -> tuple[events.Ending, ...]:
        """Of the ranks that are over, as many as an event tells."""
        return tuple(rank.ending() for rank in self.ranks if rank.over)[:MOST_ENDINGS]
