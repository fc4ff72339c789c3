"""What follows for a job from where it stands and what is seen of its ranks. Pure: one decision at a time.

The reconciler asks again after every action, so a decision never has to think of more than the next step, and a launcher
that was killed at any line asks the same question after its restart and goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from trainyard.common.contract import events
from trainyard.common.contract.resizing import sizes
from trainyard.common.lifecycle.states import Budget, EndReason, State
from trainyard.launcher.core.avoiding.blame import blamed
from trainyard.launcher.core.avoiding.nodes import loosened
from trainyard.launcher.core.budgets import payer_of
from trainyard.launcher.core.causes import cause
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.pending import news, pending
from trainyard.launcher.core.plan import places, serves
from trainyard.launcher.core.resizing import ended_for_size, new_size, withdrawn
from trainyard.launcher.core.sight import Append, Decision, Sight, Start, Stop, Wait

BACKOFF = (1.0, 5.0, 15.0, 60.0)  # seconds before restart 1, 2, …
LOGS_SOON = 5.0  # seconds after the end of a rank for which its last lines are waited for
LOGS_LOOK = 0.25
LONGEST_LINE = 500  # characters of a log line in an event


def decide(sight: Sight) -> Decision:
    """The next step for a job that has been admitted, or that is being cancelled."""
    by_state = _BY_STATE.get(sight.job.head.state or State.SUBMITTED)
    return by_state(sight) if by_state is not None else Wait()


def restart_delay(job: Job) -> float:
    """Seconds to wait before the next attempt."""
    if job.unblamed:
        return 0.0
    count = sum(count for _, count in job.used)
    return BACKOFF[min(count, len(BACKOFF)) - 1] if count else 0.0


def _admitted(sight: Sight) -> Decision:
    if sight.room is not None and sight.room.fault:
        return Append(withdrawn(sight.job, sight.room.fault))
    waits = sight.room is not None and bool(sight.room.waits)
    if waits and sight.job.head.state is not State.RESTARTING:
        return Wait()
    size = sight.job if waits else sight.job.at_asked_size()  # what it holds, it runs with until there is more
    choice = sight.nodes.choose(sight.job)
    return Append(
        events.JobStarting(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            backend=sight.backend,
            node=sight.node,
            devices=sight.devices,
            avoids=choice.avoids,
            message=choice.message or None,
            replicas=sizes(size.spec),
        )
    )


def _starting(sight: Sight) -> Decision:
    if not sight.ranks:
        return Start()
    return ended_for_size(sight) or new_size(sight) or _coming_up(sight)


def _coming_up(sight: Sight) -> Decision:
    if any(rank.reason is EndReason.START or rank.stopped_for for rank in sight.ranks):
        return _failing(sight)
    if any(rank.phase is Phase.ABSENT for rank in sight.ranks):
        return news(sight) or Start()
    if any(rank.pending is not None for rank in sight.ranks) and any(rank.failed for rank in sight.ranks):
        return _failing(sight)
    if any(rank.phase is Phase.STARTING for rank in sight.ranks):
        return pending(sight)
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
                    node=rank.node or sight.node,
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
                endings=sight.endings(),
            )
        )
    resize = ended_for_size(sight)
    if resize is not None:
        return resize
    if any(rank.failed for rank in sight.ranks) or all(rank.over for rank in sight.ranks):
        return _failing(sight)
    overdue = _overdue(sight)
    if overdue is not None:
        return Stop(overdue.value)
    return new_size(sight) or Wait()


def _failing(sight: Sight) -> Decision:
    """One rank has ended badly: the others are ended too, then the attempt is over."""
    if not all(rank.over for rank in sight.ranks):
        return Stop("another rank has failed")
    reason, message, culprit = cause(sight)
    if reason is EndReason.ERROR and culprit is not None and _may_say_more(sight, culprit):
        return Wait(LOGS_LOOK)
    endings = sight.endings()
    tail = tuple(line[:LONGEST_LINE] for line in sight.tail(culprit.rank)) if culprit is not None else ()
    payer = payer_of(sight.job, reason, culprit, tail)
    message = f"{message}{payer.words}"
    budget, left = payer.budget, payer.left
    blame = blamed(sight, reason, culprit, by_code=payer.of_node)
    if reason is EndReason.UNSCHEDULABLE and (taken := _no_longer(sight)) is not None:
        return Append(
            events.JobRestarting(
                job_id=sight.job.job_id,
                attempt=sight.job.attempt,
                reason=reason,
                message=f"{message}; {taken} is avoided no longer",
                budget=Budget.NONE.value,
                budget_left=0,
                used=dict(sight.job.used),
                endings=endings,
                allowed=(taken,),
            )
        )
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
                blamed=blame,
            )
        )
    if reason is EndReason.LOST:
        return Append(
            events.JobLost(
                job_id=sight.job.job_id, attempt=sight.job.attempt, message=message, endings=endings, blamed=blame
            )
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
            blamed=blame,
        )
    )


def _no_longer(sight: Sight) -> str | None:
    """The node that is taken after all: it was given up for it, so one is."""
    return loosened(sight.job.avoids, sight.nodes) or loosened(sight.job.avoids)


def _may_say_more(sight: Sight, rank: RankSeen) -> bool:
    """What it said last may decide who pays. A log that never comes holds nobody up."""
    return not sight.heard_all and 0 <= sight.now - rank.ended_at < LOGS_SOON


def _cancelling(sight: Sight) -> Decision:
    if not all(rank.over for rank in sight.ranks):
        return Stop("cancelled")
    return Append(
        events.JobCancelled(
            job_id=sight.job.job_id,
            attempt=sight.job.attempt,
            message="" if sight.ranks else "it had not started",
            endings=sight.endings(),
        )
    )


def _suspending(sight: Sight) -> Decision:
    if not all(rank.over for rank in sight.ranks):
        return Stop("suspended")
    return Append(
        events.JobSuspended(
            job_id=sight.job.job_id, attempt=sight.job.attempt, by=sight.backend, endings=sight.endings()
        )
    )


def _all_that_ran(sight: Sight) -> tuple[RankSeen, ...]:
    """A job that runs has all its ranks. One of which nothing is left (somebody deleted its folder) has vanished."""
    seen = {rank.rank: rank for rank in sight.ranks if rank.phase is not Phase.ABSENT}
    return tuple(
        seen.get(place.rank) or RankSeen(place.rank, Phase.VANISHED, ended_at=sight.now)
        for place, _ in places(sight.job.spec)
    )


def _overdue(sight: Sight) -> EndReason | None:
    limits, job = sight.job.spec.timeouts, sight.job
    if limits.active is not None and job.ran_for(sight.now) > limits.active:
        return EndReason.DEADLINE
    since = max(job.attempt_started_at or 0.0, sight.last_progress or 0.0)
    if limits.idle is not None and since and sight.now - since > limits.idle:
        return EndReason.IDLE
    return None


def _ran(sight: Sight) -> float:
    return round(max(0.0, sight.now - (sight.job.started_at or sight.now)), 3)


_BY_STATE: dict[State, Callable[[Sight], Decision]] = {
    State.RESOLVED: _admitted,
    State.QUEUED: _admitted,
    State.RESTARTING: _admitted,
    State.STARTING: _starting,
    State.RUNNING: _running,
    State.SUSPENDING: _suspending,
    State.CANCELLING: _cancelling,
}
