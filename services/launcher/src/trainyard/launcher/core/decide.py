"""What follows for a job from where it stands and what is seen of its ranks. Pure: one decision at a time.

The reconciler asks again after every action, so a decision never has to think of more than the next step, and a launcher
that was killed at any line asks the same question after its restart and goes on.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from trainyard.common.contract import events
from trainyard.common.contract.quantities import human_seconds
from trainyard.common.lifecycle.states import BUDGET_OF, Budget, EndReason, State
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.plan import places, serves

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


Decision = Append | Start | Stop | Wait

_PORT_TAKEN = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
BACKOFF = (1.0, 5.0, 15.0, 60.0)  # seconds before restart 1, 2, …
LONGEST_LINE = 500  # characters of a log line in an event
_OURS = {
    EndReason.DEADLINE: ("it ran longer than {} (timeouts.active)", "active"),
    EndReason.IDLE: ("it reported no progress for {} (timeouts.idle)", "idle"),
}
"""Time-outs for which ranks that were well are stopped: the words, and the field that says how long."""


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


def decide(sight: Sight) -> Decision:
    """The next step for a job that has been admitted, or that is being cancelled."""
    by_state = _BY_STATE.get(sight.job.head.state or State.SUBMITTED)
    return by_state(sight) if by_state is not None else Wait()


def pending_fault(job: Job, now: float) -> events.JobFailed | None:
    """A job that has waited longer than it wants to."""
    limit = job.spec.timeouts.pending
    if limit is None or job.started_at is not None or now - job.submitted_at <= limit:
        return None
    return events.JobFailed(
        job_id=job.job_id,
        attempt=job.attempt,
        reason=EndReason.PENDING_DEADLINE,
        message=f"it did not start within {human_seconds(limit)} (timeouts.pending)",
    )


def restart_delay(job: Job) -> float:
    """Seconds to wait before the next attempt."""
    count = sum(count for _, count in job.used)
    return BACKOFF[min(count, len(BACKOFF)) - 1] if count else 0.0


def _admitted(sight: Sight) -> Decision:
    return Append(
        events.JobStarting(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            backend=sight.backend,
            node=sight.node,
            devices=sight.devices,
        )
    )


def _starting(sight: Sight) -> Decision:
    if not sight.ranks:
        return Start()
    if any(rank.reason is EndReason.START for rank in sight.ranks):
        return _failing(sight)
    if any(rank.phase is Phase.ABSENT for rank in sight.ranks):
        return Start()
    if any(rank.phase is Phase.STARTING for rank in sight.ranks):
        return Wait()
    where = dict(zip((rank.rank for rank in sight.ranks), places(sight.job.spec), strict=True))
    return Append(
        events.JobRunning(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            ranks=tuple(
                events.RankInfo(
                    rank=rank.rank,
                    role=where[rank.rank][0].role,
                    replica=where[rank.rank][0].replica,
                    node=sight.node,
                    pid=rank.pid,
                    devices=sight.job.devices[rank.rank] if sight.job.devices else (),
                )
                for rank in sight.ranks
            ),
        )
    )


def _running(sight: Sight) -> Decision:
    sight = replace(sight, ranks=_all_that_ran(sight))
    serving = serves(sight.job.spec)
    if all(rank.succeeded for rank in sight.ranks if rank.rank not in serving):
        if not all(rank.over for rank in sight.ranks):
            return Stop("those that it served are done")
        return Append(
            events.JobSucceeded(
                job_id=sight.job.job_id,
                attempt=sight.job.attempt,
                outputs=sight.outputs,
                seconds=_ran(sight),
                endings=_endings(sight),
            )
        )
    if any(rank.failed for rank in sight.ranks) or all(rank.over for rank in sight.ranks):
        return _failing(sight)
    overdue = _overdue(sight)
    if overdue is not None:
        return Stop(overdue.value)
    return Wait()


def _failing(sight: Sight) -> Decision:
    """One rank has ended badly: the others are ended too, then the attempt is over."""
    if not all(rank.over for rank in sight.ranks):
        return Stop("another rank has failed")
    reason, message, culprit = _cause(sight)
    endings = _endings(sight)
    tail = tuple(line[:LONGEST_LINE] for line in sight.tail(culprit.rank)) if culprit is not None else ()
    budget = BUDGET_OF[reason]
    if reason is EndReason.ERROR and any(_PORT_TAKEN.search(line) for line in tail):
        # Between choosing the port of the rendezvous and using it somebody else took it: not the user's fault.
        budget = Budget.INFRASTRUCTURE
    left = _left(sight.job, budget)
    if left > 0:
        used = {**dict(sight.job.used), budget.value: sight.job.spent(budget.value) + 1}
        return Append(
            events.JobRestarting(
                job_id=sight.job.job_id,
                attempt=sight.job.attempt,
                reason=reason,
                message=message,
                budget=budget.value,
                budget_left=left - 1,
                used=used,
                endings=endings,
                log_tail=tail,
            )
        )
    if reason is EndReason.LOST:
        return Append(
            events.JobLost(job_id=sight.job.job_id, attempt=sight.job.attempt, message=message, endings=endings)
        )
    return Append(
        events.JobFailed(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            reason=reason,
            message=message,
            seconds=_ran(sight),
            endings=endings,
            log_tail=tail,
        )
    )


def _cancelling(sight: Sight) -> Decision:
    if not all(rank.over for rank in sight.ranks):
        return Stop("cancelled")
    return Append(
        events.JobCancelled(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            message="" if sight.ranks else "it had not started",
            endings=_endings(sight),
        )
    )


def _all_that_ran(sight: Sight) -> tuple[RankSeen, ...]:
    """A job that runs has all its ranks. One of which nothing is left (somebody deleted its folder) has vanished."""
    seen = {rank.rank: rank for rank in sight.ranks if rank.phase is not Phase.ABSENT}
    return tuple(
        seen.get(place.rank) or RankSeen(place.rank, Phase.VANISHED, ended_at=sight.now)
        for place, _ in places(sight.job.spec)
    )


def _cause(sight: Sight) -> tuple[EndReason, str, RankSeen | None]:
    """What ended the attempt: our own time-out, or else the first rank that ended badly by itself.

    Ranks are stopped for a time-out only while all of them are well, so it comes before what they make of the stop. A rank
    that infrastructure took comes before ranks that then missed it.
    """
    for rank in sight.ranks:
        for reason, (words, field) in _OURS.items():
            if rank.stopped_for == reason.value:
                return reason, words.format(human_seconds(getattr(sight.job.spec.timeouts, field) or 0)), rank
    failed = sorted((rank for rank in sight.ranks if rank.failed), key=_blame)
    if failed:
        return failed[0].why(), _sentence(failed[0], sight.tail), failed[0]
    return EndReason.SIGNAL, "its processes were ended from outside", None


def _blame(rank: RankSeen) -> tuple[bool, float]:
    return BUDGET_OF[rank.why()] is not Budget.INFRASTRUCTURE, rank.ended_at


def _sentence(rank: RankSeen, tail: Tail) -> str:
    who = f"rank {rank.rank}"
    if rank.message:
        return f"{who}: {rank.message}"
    if rank.phase is Phase.VANISHED:
        return f"{who} is gone and nobody recorded how it ended"
    if rank.signal is not None:
        name = signal.Signals(rank.signal).name if rank.signal in set(signal.Signals) else str(rank.signal)
        text = f"{who} was killed by {name}"
        return f"{text}: it ran out of memory" if rank.reason is EndReason.OOM else text
    text = f"{who} exited with code {rank.exit_code}"
    last = next((line for line in reversed(tail(rank.rank)) if line.strip()), "")
    return f"{text}; its last line: {last.strip()[:300]}" if last else text


def _overdue(sight: Sight) -> EndReason | None:
    limits, job = sight.job.spec.timeouts, sight.job
    if limits.active is not None and job.started_at is not None and sight.now - job.started_at > limits.active:
        return EndReason.DEADLINE
    since = max(job.attempt_started_at or 0.0, sight.last_progress or 0.0)
    if limits.idle is not None and since and sight.now - since > limits.idle:
        return EndReason.IDLE
    return None


def _left(job: Job, budget: Budget) -> int:
    if budget is Budget.NONE:
        return 0
    allowed: int = getattr(job.spec.retries, budget.value)
    return allowed - job.spent(budget.value)


def _ran(sight: Sight) -> float:
    return round(max(0.0, sight.now - (sight.job.started_at or sight.now)), 3)


def _endings(sight: Sight) -> tuple[events.Ending, ...]:
    return tuple(rank.ending() for rank in sight.ranks if rank.over)[:256]


_BY_STATE: dict[State, Callable[[Sight], Decision]] = {
    State.RESOLVED: _admitted,
    State.QUEUED: _admitted,
    State.RESTARTING: _admitted,
    State.STARTING: _starting,
    State.RUNNING: _running,
    State.CANCELLING: _cancelling,
}
