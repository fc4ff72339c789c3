"""What a job needs next: its status, and which pods to make, delete and let go. Pure; the controller carries it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trainyard.cluster_double.core.jobs import indexes, policies
from trainyard.cluster_double.core.jobs.tally import Tally, is_ready, tally
from trainyard.cluster_double.core.objects import (
    Json,
    finalizers_of,
    has_condition,
    is_deleting,
    seconds_of,
    spec_of,
    stamp,
    status_of,
    with_condition,
)
from trainyard.cluster_double.core.rules.jobs import TRACKING

_LONGEST_BACKOFF = 600.0


@dataclass(frozen=True, slots=True)
class New:
    """A pod to make. `index` is None in a job that is not indexed."""

    index: int | None = None
    failures: int = 0


@dataclass(slots=True)
class Decision:
    status: Json
    create: list[New] = field(default_factory=list)
    delete: list[Json] = field(default_factory=list)
    drop: list[Json] = field(default_factory=list)
    """Pods to delete without counting them as failed: nobody wants them any more."""
    release: list[Json] = field(default_factory=list)
    """Pods that are counted and may go (their finalizer is taken away)."""
    again: float | None = None
    """Seconds after which the job must be looked at though nothing happened."""
    notes: list[tuple[str, str, str]] = field(default_factory=list)
    """(Normal or Warning, reason, message)"""


def decide(job: Json, pods: Sequence[Json], now: float, backoff: float) -> Decision:
    status = dict(status_of(job))
    if is_finished(job):
        return Decision(status, release=[pod for pod in pods if TRACKING in finalizers_of(pod)])
    found = tally(job, pods)
    decision = Decision(status, release=found.ended)
    if "startTime" not in status and not spec_of(job).get("suspend"):
        status["startTime"] = stamp(now)
    ending = _ending(job, found, status, now)
    if ending is not None:
        _end(decision, found, ending, now)
    elif spec_of(job).get("suspend"):
        _suspend(decision, found, now)
    else:
        _resume(decision, now)
        if not is_deleting(job):
            _scale(decision, job, found, now, backoff)
    _count(decision, job, found)
    return decision


def is_finished(job: Json) -> bool:
    return has_condition(job, "Complete") or has_condition(job, "Failed")


@dataclass(frozen=True, slots=True)
class Ending:
    target: str
    """FailureTarget or SuccessCriteriaMet: the job will end so once its pods have."""
    final: str
    reason: str
    message: str


def _ending(job: Json, found: Tally, status: Json, now: float) -> Ending | None:
    for target, final in (("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")):
        told = next((one for one in status.get("conditions") or () if one["type"] == target), None)
        if told is not None and told.get("status") == "True":
            return Ending(target, final, told["reason"], told["message"])
    failed = _failing(job, found, status, now)
    if failed is not None:
        return Ending("FailureTarget", "Failed", *failed)
    done = _succeeding(job, found)
    return Ending("SuccessCriteriaMet", "Complete", *done) if done is not None else None


def _failing(job: Json, found: Tally, status: Json, now: float) -> tuple[str, str] | None:
    spec = spec_of(job)
    if found.verdict is not None:
        return "PodFailurePolicy", found.verdict.message
    limit = spec.get("backoffLimit", 6)
    over = found.new_failure and found.failed > limit
    restarting = spec["template"]["spec"].get("restartPolicy") == "OnFailure"
    if over or (restarting and found.restarts and found.restarts >= max(limit, 1)):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and status.get("startTime") and now >= seconds_of(status["startTime"]) + deadline:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    if spec.get("backoffLimitPerIndex") is not None and found.failed_indexes:
        most = spec.get("maxFailedIndexes")
        if most is not None and len(found.failed_indexes) > most:
            return "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
        if len(found.failed_indexes | found.completed) >= spec["completions"]:
            return "FailedIndexes", "Job has failed indexes"
    return None


def _succeeding(job: Json, found: Tally) -> tuple[str, str] | None:
    spec = spec_of(job)
    said = policies.satisfied(job, found.completed)
    if said:
        return "SuccessPolicy", said
    wanted = spec.get("completions")
    # Without a number of completions one success says that the work is done; the others come to their own end.
    done = found.succeeded > 0 and not found.active if wanted is None else found.succeeded >= wanted
    return ("CompletionsReached", "Reached expected number of succeeded pods") if done else None


def _end(decision: Decision, found: Tally, ending: Ending, now: float) -> None:
    # What is stopped because the job failed has failed with it; what a success leaves over has not.
    if ending.final == "Failed":
        decision.delete = list(found.active)
    else:
        decision.drop = list(found.active)
    _tell(decision, ending.target, "True", ending.reason, ending.message, now)
    if found.active or found.terminating:
        return
    _tell(decision, ending.final, "True", ending.reason, ending.message, now)
    if ending.final == "Complete":
        decision.status["completionTime"] = stamp(now)
        decision.notes.append(("Normal", "Completed", "Job completed"))
    else:
        decision.notes.append(("Warning", ending.reason, ending.message))


def _suspend(decision: Decision, found: Tally, now: float) -> None:
    decision.drop = list(found.active)
    decision.status.pop("startTime", None)
    if _tell(decision, "Suspended", "True", "JobSuspended", "Job suspended", now):
        decision.notes.append(("Normal", "Suspended", "Job suspended"))


def _resume(decision: Decision, now: float) -> None:
    told = next((one for one in decision.status.get("conditions") or () if one["type"] == "Suspended"), None)
    if told is not None and told["status"] == "True":
        _tell(decision, "Suspended", "False", "JobResumed", "Job resumed", now)
        decision.status["startTime"] = stamp(now)
        decision.notes.append(("Normal", "Resumed", "Job resumed"))


def _scale(decision: Decision, job: Json, found: Tally, now: float, backoff: float) -> None:
    """As many pods as there shall be, and not too soon after a failure."""
    spec = spec_of(job)
    running = len(found.active) + (len(found.terminating) if spec.get("podReplacementPolicy") == "Failed" else 0)
    wanted = spec.get("parallelism", 1)
    if spec.get("completions") is not None:
        open_ends = spec["completions"] - found.succeeded - len(found.failed_indexes)
        wanted = min(wanted, max(0, open_ends))
    elif found.succeeded:
        wanted = running
    if running > wanted:
        decision.drop = _surplus(found, running - wanted)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        decision.again = max(0.0, seconds_of(decision.status["startTime"]) + deadline - now)
    if running >= wanted:
        return
    wait = _wait(found, now, backoff)
    if wait > 0:
        decision.again = wait if decision.again is None else min(wait, decision.again)
        return
    if spec.get("completionMode") != "Indexed":
        decision.create = [New() for _ in range(wanted - running)]
        return
    taken = {indexes.index_of(pod) for pod in found.active} | found.completed | found.failed_indexes
    if spec.get("podReplacementPolicy") == "Failed":
        taken |= {indexes.index_of(pod) for pod in found.terminating}
    free = [index for index in range(spec["completions"]) if index not in taken]
    counted = spec.get("backoffLimitPerIndex") is not None
    decision.create = [
        New(index, found.index_failures.get(index, 0) if counted else 0) for index in free[: wanted - running]
    ]


def _surplus(found: Tally, count: int) -> list[Json]:
    """Pods that have not started go first, then the youngest; of an indexed job the highest."""
    started = sorted(
        found.active, key=lambda pod: (status_of(pod).get("phase") == "Running", -(indexes.index_of(pod) or 0))
    )
    return started[:count]


def _wait(found: Tally, now: float, backoff: float) -> float:
    if not found.recent:
        return 0.0
    pause = min(backoff * 2.0 ** (found.recent - 1), _LONGEST_BACKOFF)
    return float(found.last_failure + pause - now)


def _count(decision: Decision, job: Json, found: Tally) -> None:
    status, spec = decision.status, spec_of(job)
    gone = {id(pod) for pod in (*decision.delete, *decision.drop)}
    active = [pod for pod in found.active if id(pod) not in gone]
    numbers = {"active": len(active) + len(decision.create), "succeeded": found.succeeded, "failed": found.failed}
    for name, value in numbers.items():
        if value:
            status[name] = value
        else:
            status.pop(name, None)
    status["ready"] = sum(is_ready(pod) for pod in active)
    status["terminating"] = len(found.terminating) + len(gone)
    status["uncountedTerminatedPods"] = {}
    if found.completed:
        status["completedIndexes"] = indexes.written(found.completed)
    if spec.get("backoffLimitPerIndex") is not None:
        status["failedIndexes"] = indexes.written(found.failed_indexes)


def _tell(decision: Decision, kind: str, value: str, reason: str, message: str, now: float) -> bool:
    """Writes a condition; says whether it is news."""
    told = {
        "type": kind,
        "status": value,
        "lastProbeTime": stamp(now),
        "lastTransitionTime": stamp(now),
        "reason": reason,
        "message": message,
    }
    conditions = decision.status.get("conditions") or []
    old = next((one for one in conditions if one["type"] == kind), None)
    if old is not None and old["status"] == value:
        return False
    decision.status["conditions"] = with_condition(conditions, told)
    return True
