"""From the pods of an attempt to its ranks. Pure.

A replica is one pod; its processes are ranks. What the runner wrote down of each process counts before what the kubelet says
of the container as a whole. A pod that was seen and is no more has vanished; one that was never seen is still to come.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.core.cluster.pods import Pod, RankEnd
from trainyard.launcher.core.cluster.stopping import Stopped
from trainyard.launcher.core.frameworks.shape import Place
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Pending, Phase, RankSeen
from trainyard.launcher.core.plan import places

Replica = tuple[str, int]
"""Role and index within it."""
_KILLS = frozenset({9, 15})
GRACE = 60.0  # seconds beyond its own grace after which a pod that does not go away is given up with its node


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the cluster has of an attempt."""

    pods: Mapping[Replica, Pod]
    """The newest of each replica."""
    lost: Mapping[Replica, Pod] = field(default_factory=dict)
    """The last that was seen of pods that are no more."""
    stopped: Stopped | None = None
    """Set while we are ending it."""
    begun: bool = True
    """Everything that makes pods has been made."""
    expected: bool = True
    """What makes the pods is still there and has not given up."""
    waits: Pending | None = None
    """Why no pods are made at all: a queue, a quota."""


def newest(pods: Iterable[Pod]) -> dict[Replica, Pod]:
    """One pod a replica: a replica's older pods are on their way out."""
    found: dict[Replica, Pod] = {}
    for pod in pods:
        known = found.get((pod.role, pod.index))
        if known is None or (pod.created, pod.uid) > (known.created, known.uid):
            found[pod.role, pod.index] = pod
    return found


def see(job: Job, attempt: Attempt, now: float) -> Sequence[RankSeen]:
    """Every rank, in order."""
    ranks = [_rank(place, attempt, now) for place, _ in places(job.spec)]
    if any(rank.failed and not rank.taken for rank in ranks):
        return [_followed(rank) if rank.taken else rank for rank in ranks]
    return ranks


def _followed(rank: RankSeen) -> RankSeen:
    """A controller ends its other pods once one of them has failed, as we would have done ourselves."""
    return replace(rank, reason=None, message="", stopped=True, stopped_for="another rank has failed")


def _rank(place: Place, attempt: Attempt, now: float) -> RankSeen:
    stopped = attempt.stopped
    if stopped is not None and place.rank in stopped.ended:
        return stopped.ended[place.rank]
    replica = (place.role, place.replica)
    pod, lost = attempt.pods.get(replica), attempt.lost.get(replica)
    if pod is not None:
        seen = _of(place.rank, pod, now)
    elif lost is not None and (lost.over or lost.reason is not None):
        seen = _of(place.rank, replace(lost, over=True), now)
    elif lost is not None or not attempt.expected:
        message = "its pod is gone and nobody recorded how it ended"
        node, of_node = (lost.node, attempt.expected) if lost is not None else ("", False)
        seen = RankSeen(place.rank, Phase.VANISHED, message=message, ended_at=now, of_node=of_node, node=node)
    elif attempt.begun:
        seen = RankSeen(place.rank, Phase.STARTING, pending=attempt.waits)
    else:
        seen = RankSeen(place.rank, Phase.ABSENT, pending=attempt.waits)
    if stopped is not None and not seen.node:
        seen = replace(seen, node=stopped.placed.get(place.rank, ""))
    return seen if stopped is None else _ended_by_us(seen, stopped.why, absent=pod is None and lost is None)


def _ended_by_us(seen: RankSeen, why: str, *, absent: bool) -> RankSeen:
    """It was well when it was told to end: how it ended since then says nothing, but for running out of memory."""
    if absent:
        return RankSeen(seen.rank, Phase.ABSENT, stopped=True, stopped_for=why, node=seen.node)
    if not seen.over or seen.reason is EndReason.OOM:
        return seen
    return replace(seen, phase=Phase.ENDED, reason=None, message="", stopped=True, stopped_for=why)


def _was_killed(end: RankEnd) -> bool:
    return end.signal in _KILLS or (end.signal is None and end.code is None)


def _of(rank: int, pod: Pod, now: float) -> RankSeen:
    abandoned = pod.deleting_since is not None and now > pod.deleting_since + GRACE
    if not (pod.over or abandoned):
        phase = Phase.RUNNING if pod.running else Phase.STARTING
        return RankSeen(rank, phase, node=pod.node, pending=pod.pending)
    end = dict(pod.ends).get(rank) or RankEnd(pod.code, pod.signal)
    reason, message = pod.reason, pod.message
    if reason is None and end.oom:
        reason = EndReason.OOM
    if reason is None and not pod.over:
        reason, message = EndReason.NODE_LOST, f"node {pod.node} does not end it any more"
        pod = replace(pod, of_node=True)
    taken = pod.deleting_since is not None and reason is None and _was_killed(end)
    if taken:
        reason, message = EndReason.EVICTED, "its pod was deleted by somebody else than the launcher"
    return RankSeen(
        rank,
        Phase.ENDED,
        exit_code=end.code if end.signal is None else None,
        signal=end.signal,
        reason=reason,
        message=message,
        ended_at=pod.ended_at or now,
        taken=taken,
        of_node=pod.of_node and not taken,
        max_rss=end.max_rss,
        cpu_seconds=end.cpu_seconds,
        node=pod.node,
    )
