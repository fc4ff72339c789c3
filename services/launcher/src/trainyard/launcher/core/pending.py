"""Ranks that do not run yet: for how long they may, and what people are told meanwhile. Pure."""

from __future__ import annotations

from trainyard.common.contract import events
from trainyard.common.contract.quantities import human_seconds
from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen
from trainyard.launcher.core.sight import Append, Decision, Sight, Stop, Wait

PENDING_LIMITS = {
    EndReason.IMAGE_PULL: 300.0,
    EndReason.INIT_FAILED: 300.0,
    EndReason.START: 300.0,  # a secret or volume that is not there
    EndReason.NODE_FAULT: 300.0,  # a node that cannot make the pod's network, again and again
    EndReason.QUOTA: None,
    EndReason.UNSCHEDULABLE: None,
}
"""Seconds that a rank may fail to begin for a reason, while its job holds what it has; None: for as long as the job waits."""
QUIET = 5.0  # seconds that a rank may take to begin before anybody is told what it waits for


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


def pending(sight: Sight) -> Decision:
    """Some ranks do not run yet: for how long they may, and what people are told."""
    job, waiting = sight.job, [rank for rank in sight.ranks if rank.pending is not None]
    limit = job.spec.timeouts.pending
    if limit is not None and job.started_at is None and sight.now - job.submitted_at > limit:
        return Stop(EndReason.PENDING_DEADLINE.value)
    for rank in waiting:
        pending = rank.pending
        longest = PENDING_LIMITS.get(pending.reason) if pending is not None and pending.reason is not None else None
        if pending is not None and pending.permanent:
            longest = float("-inf")
        if pending is not None and longest is not None and sight.now - pending.since > longest:
            return Stop(f"{pending.reason}: rank {rank.rank} could not start: {pending.message}")
    return news(sight) or Wait()


def news(sight: Sight) -> Append | None:
    """Why it does not run yet, where the log was told otherwise."""
    job = sight.job
    worst = next((rank.pending for rank in sorted(sight.ranks, key=_worst) if rank.pending is not None), None)
    if worst is None or worst.message == sight.told or (worst.reason is None and sight.now - worst.since < QUIET):
        return None
    return Append(events.JobPending(job_id=job.job_id, attempt=job.attempt, message=worst.message, reason=worst.reason))


def _worst(rank: RankSeen) -> tuple[bool, int]:
    return rank.pending is None or rank.pending.reason is None, rank.rank
