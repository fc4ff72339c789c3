"""What the launcher knows of one active job: where it stands, what it wants, what has been spent. Folded from events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.nodes import Avoided, Blamed
from trainyard.common.contract.resizing import sized, sizes
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import Head, step

MOST_BLAMED = 64
"""Nodes that a job remembers."""


@dataclass(frozen=True, slots=True)
class Job:
    head: Head
    spec: JobSpec
    """As it was submitted, at the size of the present attempt: another that was asked for counts from the next one on."""
    owner: str
    submitted_at: float
    """Unix seconds, from the event's own time."""
    resolution: events.Resolution | None = None
    """Without its reasons; None until the matrix has answered."""
    started_at: float | None = None
    """When the first attempt ran."""
    attempt_started_at: float | None = None
    used: tuple[tuple[str, int], ...] = ()
    """Retries spent, by budget."""
    trace: str | None = None
    """The traceparent of the request that the job began with; every event of its life belongs to that trace."""
    devices: tuple[tuple[str, ...], ...] = ()
    """Rank → accelerators that it was given; empty: none was asked for."""
    blamed: tuple[tuple[float, Blamed], ...] = ()
    """Nodes that were to blame in its attempts, and when (Unix seconds); the one of longest ago first."""
    allowed: tuple[str, ...] = ()
    """Nodes that it takes although they are to be avoided: it has waited for others in vain."""
    avoids: tuple[Avoided, ...] = ()
    """Nodes that its present attempt is kept away from."""
    paused: float = 0.0
    """Seconds for which it was suspended, after it had run."""
    paused_at: float | None = None
    asked: tuple[tuple[str, int], ...] = ()
    """Role → replicas that it is to have, of the roles that were ever resized."""
    resizes: int = 0
    """Times that it was resized."""
    unblamed: bool = False
    """The attempt that ended last did so to be resized: the next one does not wait for that."""

    @property
    def resizing(self) -> bool:
        """The present attempt has not the size that was asked for."""
        now = sizes(self.spec)
        return any(now[role] != replicas for role, replicas in self.asked if role in now)

    def at_asked_size(self) -> Job:
        """What the next attempt is."""
        return replace(self, spec=sized(self.spec, dict(self.asked))) if self.resizing else self

    @property
    def job_id(self) -> str:
        return self.head.job_id

    @property
    def image(self) -> str | None:
        """None until the matrix has answered."""
        return self.resolution.image if self.resolution is not None else None

    @property
    def attempt(self) -> int:
        """The attempt that runs, or that is to run next."""
        if self.head.state is State.RESTARTING:
            return self.head.attempt + 1
        return max(1, self.head.attempt)

    def ran_for(self, now: float) -> float:
        """Seconds since the first attempt ran, but for those for which it was suspended; 0 before."""
        return now - self.started_at - self.paused if self.started_at is not None else 0.0

    def spent(self, budget: str) -> int:
        return dict(self.used).get(budget, 0)


def begin(recorded: Recorded[events.JobSubmitted]) -> Job:
    event = recorded.event
    head, _ = step(Head(event.job_id), event, recorded.seq)
    return Job(head, event.spec, event.owner, seconds(recorded.time), trace=recorded.traceparent)


def apply(job: Job, event: events.JobEvent, seq: int, time: float) -> Job:
    """The job after an event of the log; unchanged when it has been seen before."""
    if seq <= job.head.seq:
        return job
    head, _ = step(job.head, event, seq)
    changes: dict[str, Any] = {"head": head}
    if isinstance(event, events.JobResolved):
        changes["resolution"] = event.resolution.model_copy(update={"reasons": ()})
    elif isinstance(event, events.JobStarting):
        spec = sized(job.spec, event.replicas) if event.replicas else job.at_asked_size().spec
        changes |= {"devices": event.devices, "avoids": event.avoids, "spec": spec}
    elif isinstance(event, events.JobResized):
        changes |= {"asked": tuple(sorted(event.roles.items())), "resizes": event.number}
    elif isinstance(event, events.JobRunning):
        changes |= {"started_at": job.started_at or time, "attempt_started_at": time}
        if job.paused_at is not None:
            changes |= {"paused": job.paused + time - job.paused_at, "paused_at": None}
    elif isinstance(event, events.JobSuspended):
        changes["paused_at"] = time if job.started_at is not None else None
    elif isinstance(event, events.JobRestarting):
        changes |= {"used": tuple(sorted(event.used.items())), "unblamed": event.reason is EndReason.RESIZED}
        changes |= _blamed(job, event, time)
    return replace(job, **changes)


def _blamed(job: Job, event: events.JobRestarting, time: float) -> dict[str, Any]:
    """A node that is to blame once more is avoided once more."""
    now = {blamed.node for blamed in event.blamed}
    earlier = [(at, blamed) for at, blamed in job.blamed if blamed.node not in now | {*event.allowed}]
    allowed = {*job.allowed, *event.allowed} - now
    return {
        "blamed": (*earlier, *((time, blamed) for blamed in event.blamed))[-MOST_BLAMED:],
        "allowed": tuple(sorted(allowed)),
    }


def seconds(time: str) -> float:
    """RFC 3339 → Unix seconds."""
    return datetime.fromisoformat(time).timestamp()
