"""Another size for a job: a new attempt with so many replicas, once there is room for it. Pure.

The processes of a group are told how many they are when they begin, so all of them begin anew: they get SIGTERM and their
grace, in which a checkpoint can be written, and the next attempt goes on from it. No retry budget pays for that. The old
group is not ended before what the new one needs is kept for it, where it is the launcher who keeps it: on a cluster the
scheduler does, and it cannot keep for one pod what another still holds.
"""

from __future__ import annotations

from trainyard.common.contract import events
from trainyard.common.contract.resizing import sizes
from trainyard.common.lifecycle.states import Budget, EndReason, State
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.sight import Append, Decision, Sight, Stop

BY = "launcher"


def words(replicas: dict[str, int]) -> str:
    """`1 × chief, 4 × worker`."""
    return ", ".join(f"{count} × {role}" for role, count in sorted(replicas.items()))


def waits(job: Job, asks: str) -> str:
    """What people are told while there is no room. Without what is free at this moment: it would be told again and again."""
    asked = words(sizes(job.at_asked_size().spec))
    return f"it goes on with {words(sizes(job.spec))} until there is room for {asked}, which asks for {asks}"


def withdrawn(job: Job, fault: str) -> events.JobResized:
    """A size that can never be had is not asked for any longer: the job keeps the one that it has."""
    now = sizes(job.spec)
    role, asked = next((role, count) for role, count in job.asked if now.get(role, count) != count)
    return events.JobResized(
        job_id=job.job_id,
        number=job.resizes + 1,
        role=role,
        before=asked,
        replicas=now[role],
        by=BY,
        message=f"it stays at {words(now)}: {fault}",
        roles={role: now[role] for role, _ in job.asked if role in now},
    )


def new_size(sight: Sight) -> Decision | None:
    """It is to have another size: it is ended for that as soon as there is room."""
    job, room = sight.job, sight.room
    if room is None:
        return None
    if room.fault:
        return Append(withdrawn(job, room.fault))
    if not room.waits:  # who is over cannot be ended: how it went decides what follows
        return Stop(EndReason.RESIZED.value) if not all(rank.over for rank in sight.ranks) else None
    if room.waits == sight.told or job.head.state is not State.RUNNING:  # else it is told why it does not run
        return None
    return Append(events.JobPending(job_id=job.job_id, attempt=job.attempt, message=room.waits))


def ended_for_size(sight: Sight) -> Decision | None:
    """What it makes of being ended to be resized (one misses another that has gone before) is nobody's failure."""
    if not any(rank.stopped_for == EndReason.RESIZED.value for rank in sight.ranks):
        return None
    if not all(rank.over for rank in sight.ranks):
        return Stop(EndReason.RESIZED.value)
    job = sight.job
    before, after = words(sizes(job.spec)), words(sizes(job.at_asked_size().spec))
    return Append(
        events.JobRestarting(
            job_id=job.job_id,
            attempt=job.attempt,
            reason=EndReason.RESIZED,
            message=f"it had {before} and begins anew with {after}",
            budget=Budget.NONE.value,
            budget_left=0,
            used=dict(job.used),
            endings=sight.endings(),
        )
    )
