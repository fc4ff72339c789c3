"""How a job stands: its pods sorted by what they do, and its counters with the pods that ended since they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trainyard.cluster_double.core.jobs import indexes, policies
from trainyard.cluster_double.core.objects import (
    Json,
    annotations_of,
    finalizers_of,
    is_deleting,
    meta,
    seconds_of,
    spec_of,
    status_of,
)
from trainyard.cluster_double.core.rules.jobs import TRACKING

FAILURES = "batch.kubernetes.io/job-index-failure-count"


@dataclass(slots=True)
class Tally:
    active: list[Json] = field(default_factory=list)
    terminating: list[Json] = field(default_factory=list)
    ended: list[Json] = field(default_factory=list)
    """Pods to let go: counted now, or not worth counting."""
    succeeded: int = 0
    failed: int = 0
    new_failure: bool = False
    completed: set[int] = field(default_factory=set)
    failed_indexes: set[int] = field(default_factory=set)
    index_failures: dict[int, int] = field(default_factory=dict)
    verdict: policies.Verdict | None = None
    """A pod's failure that fails the whole job."""
    restarts: int = 0
    recent: int = 0
    """Failures in a row since the last success."""
    last_failure: float = 0.0


def tally(job: Json, pods: Sequence[Json]) -> Tally:
    status, spec = status_of(job), spec_of(job)
    found = Tally(succeeded=status.get("succeeded", 0), failed=status.get("failed", 0))
    found.completed = indexes.read(status.get("completedIndexes", ""))
    found.failed_indexes = indexes.read(status.get("failedIndexes", ""))
    indexed = spec.get("completionMode") == "Indexed"
    for pod in pods:
        _place(found, job, pod, indexed=indexed)
    if indexed:
        found.succeeded = len(found.completed)
        _fail_indexes(found, spec)
    _count_recent(found, pods)
    return found


def _place(found: Tally, job: Json, pod: Json, *, indexed: bool) -> None:
    phase, tracked = status_of(pod).get("phase"), TRACKING in finalizers_of(pod)
    index = indexes.index_of(pod) if indexed else None
    if index is not None:
        before = int(annotations_of(pod).get(FAILURES, "0"))
        found.index_failures[index] = max(found.index_failures.get(index, 0), before)
    if phase == "Succeeded":
        if tracked:
            found.ended.append(pod)
            if index is not None:
                if index < spec_of(job)["completions"]:
                    found.completed.add(index)
            else:
                found.succeeded += 1
    elif _has_failed(job, pod):
        _failure(found, job, pod, index, tracked=tracked)
        if phase != "Failed":
            found.terminating.append(pod)
    elif is_deleting(pod):
        found.terminating.append(pod)
    else:
        found.active.append(pod)
        found.restarts += sum(one.get("restartCount", 0) for one in status_of(pod).get("containerStatuses") or ())


def _has_failed(job: Json, pod: Json) -> bool:
    """A pod that is being deleted counts as failed at once, unless the job waits for it to end (Failed)."""
    if status_of(pod).get("phase") == "Failed":
        return True
    return is_deleting(pod) and spec_of(job).get("podReplacementPolicy") != "Failed"


def _failure(found: Tally, job: Json, pod: Json, index: int | None, *, tracked: bool) -> None:
    verdict = policies.judge(job, pod)
    if verdict.action == policies.FAIL_JOB and found.verdict is None:
        found.verdict = verdict
    if index is not None and verdict.action != policies.IGNORE:
        count = int(annotations_of(pod).get(FAILURES, "0")) + 1
        found.index_failures[index] = max(found.index_failures.get(index, 0), count)
    if index is not None and verdict.action == policies.FAIL_INDEX:
        found.failed_indexes.add(index)
    if tracked:
        found.ended.append(pod)
        if verdict.action != policies.IGNORE:
            found.failed += 1
            found.new_failure = True


def _fail_indexes(found: Tally, spec: Json) -> None:
    limit = spec.get("backoffLimitPerIndex")
    if limit is None:
        return
    for index, count in found.index_failures.items():
        if count > limit and index not in found.completed:
            found.failed_indexes.add(index)


def _count_recent(found: Tally, pods: Sequence[Json]) -> None:
    ends = sorted((ended_at(pod), status_of(pod).get("phase") == "Succeeded") for pod in pods if _is_over(pod))
    for at, well in ends:
        found.recent = 0 if well else found.recent + 1
        if not well:
            found.last_failure = at


def _is_over(pod: Json) -> bool:
    return status_of(pod).get("phase") in {"Succeeded", "Failed"}


def ended_at(pod: Json) -> float:
    """When the last container ended; when the pod was made, for one that says nothing of it."""
    times = [
        seconds_of(ended["finishedAt"])
        for one in status_of(pod).get("containerStatuses") or ()
        if (ended := (one.get("state") or {}).get("terminated")) and ended.get("finishedAt")
    ]
    return max(times) if times else seconds_of(meta(pod)["creationTimestamp"])


def is_ready(pod: Json) -> bool:
    conditions = status_of(pod).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
