"""Ranks that do not run yet: for how long they may, and what people are told meanwhile. Pure."""

from __future__ import annotations

import re

from trainyard.common.contract import events
from trainyard.common.contract.quantities import human_seconds
from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.avoiding.nodes import loosened
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Pending, RankSeen
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
COULD_NOT = re.compile(r"rank (\d+) could not")
"""How the words begin for which ranks are ended since one of them does not begin."""
MOST_NAMED = 5
"""Nodes that are named in a sentence."""
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
        if pending is not None and _waits_in_vain(sight, pending):
            waited = human_seconds(sight.nodes.patience)
            return Stop(f"{pending.reason}: rank {rank.rank} could not be placed within {waited}: {pending.message}")
    return news(sight) or Wait()


def news(sight: Sight) -> Append | None:
    """Why it does not run yet, where the log was told otherwise."""
    job = sight.job
    worst = next((rank.pending for rank in sorted(sight.ranks, key=_worst) if rank.pending is not None), None)
    if worst is None:
        return None
    message = f"{worst.message}{_avoiding(sight)}" if worst.reason is EndReason.UNSCHEDULABLE else worst.message
    if message == sight.told or (worst.reason is None and sight.now - worst.since < QUIET):
        return None
    return Append(events.JobPending(job_id=job.job_id, attempt=job.attempt, message=message, reason=worst.reason))


def _waits_in_vain(sight: Sight, pending: Pending) -> bool:
    """For other nodes than those that it avoids, for long enough to take one of them after all."""
    unplaced = pending.reason is EndReason.UNSCHEDULABLE and sight.now - pending.since > sight.nodes.patience
    return unplaced and loosened(sight.job.avoids, sight.nodes) is not None


def _avoiding(sight: Sight) -> str:
    avoids = sight.job.avoids
    if not avoids:
        return ""
    names = ", ".join(f"{item.node} ({item.why})" for item in avoids[-MOST_NAMED:])
    more = f" and {len(avoids) - MOST_NAMED} more" if len(avoids) > MOST_NAMED else ""
    until = f"; it waits {human_seconds(sight.nodes.patience)} for others" if loosened(avoids, sight.nodes) else ""
    return f"; avoided: {names}{more}{until}"


def _worst(rank: RankSeen) -> tuple[bool, int]:
    return rank.pending is None or rank.pending.reason is None, rank.rank
