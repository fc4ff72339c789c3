"""Jobs: carries out what `core.jobs.decide` says, and removes finished ones whose time is over."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cluster_double.api import create, delete, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions, WriteOptions
from trainyard.cluster_double.controllers.notes import note
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core.errors import ApiError
from trainyard.cluster_double.core.jobs import pods as job_pods
from trainyard.cluster_double.core.jobs.decide import Decision, decide, is_finished
from trainyard.cluster_double.core.objects import (
    Json,
    controller_of,
    finalizers_of,
    is_deleting,
    name_of,
    namespace_of,
    seconds_of,
    spec_of,
    status_of,
    uid_of,
    with_meta,
    with_status,
)
from trainyard.cluster_double.core.rules.jobs import TRACKING, UID
from trainyard.cluster_double.store.events import Event

JOBS = "batch/jobs"
_SOURCE = "job-controller"
_SETTLE = 0.02  # seconds: of a job with thousands of pods not every single one is looked at


def controllers(cluster: Cluster) -> tuple[Controller, ...]:
    return (
        Controller("jobs", _concerned, lambda key: _reconcile(cluster, key), _SETTLE),
        Controller("finished-jobs", _finished, lambda key: _expire(cluster, key)),
        Controller("job-tracking", _strays, lambda key: _release_stray(cluster, key)),
    )


def _concerned(storage: str, event: Event) -> Iterable[Key]:
    if storage == JOBS:
        yield namespace_of(event.obj), name_of(event.obj)
    elif storage == "/pods":
        owner = controller_of(event.obj)
        if owner is not None and owner["kind"] == "Job":
            yield namespace_of(event.obj), owner["name"]


def _reconcile(cluster: Cluster, key: Key) -> float | None:
    job = cluster.store.get(JOBS, *key)
    if job is None or spec_of(job).get("managedBy") not in {None, "kubernetes.io/job-controller"}:
        return None
    pods = [pod for pod in cluster.store.entries("/pods", key[0], (UID, uid_of(job))) if _owns(job, pod)]
    decision = decide(job, pods, cluster.clock.now(), cluster.settings.job_backoff_seconds)
    for pod in decision.release:
        _release(cluster, pod)
    for pod in decision.drop:
        _release(cluster, pod)
    for pod in (*decision.delete, *decision.drop):
        delete.delete(cluster, cluster.registry.named("pods"), key[0], name_of(pod), DeleteOptions())
        note(cluster, job, "Normal", "SuccessfulDelete", f"Deleted pod: {name_of(pod)}", _SOURCE)
    refused = _create(cluster, job, decision)
    for kind, reason, message in decision.notes:
        note(cluster, job, kind, reason, message, _SOURCE)
    live = cluster.store.get(JOBS, *key)
    if live is not None and decision.status != status_of(live):
        cluster.store.put(JOBS, with_status(live, decision.status))
    return cluster.settings.job_backoff_seconds if refused else decision.again


def _owns(job: Json, pod: Json) -> bool:
    owner = controller_of(pod)
    return owner is not None and owner["uid"] == uid_of(job)


def _create(cluster: Cluster, job: Json, decision: Decision) -> bool:
    """Makes the pods; says whether one was refused (by a quota, say), in which case the rest is left for later."""
    resource = cluster.registry.named("pods")
    for number, new in enumerate(decision.create):
        try:
            pod = create.create(cluster, resource, namespace_of(job), job_pods.build(job, new), WriteOptions())
        except ApiError as fault:
            note(cluster, job, "Warning", "FailedCreate", f"Error creating: {fault.message}", _SOURCE)
            decision.status["active"] -= len(decision.create) - number
            if not decision.status["active"]:
                del decision.status["active"]
            return True
        note(cluster, job, "Normal", "SuccessfulCreate", f"Created pod: {name_of(pod)}", _SOURCE)
    return False


def _release(cluster: Cluster, pod: Json) -> None:
    live = cluster.store.get("/pods", namespace_of(pod), name_of(pod))
    if live is not None:
        kept = [one for one in finalizers_of(live) if one != TRACKING]
        update.settle(cluster, cluster.registry.named("pods"), with_meta(live, finalizers=kept or None))


def _finished(storage: str, event: Event) -> Iterable[Key]:
    if storage == JOBS and event.kind != "DELETED" and is_finished(event.obj):
        yield namespace_of(event.obj), name_of(event.obj)


def _expire(cluster: Cluster, key: Key) -> float | None:
    job = cluster.store.get(JOBS, *key)
    if job is None or not is_finished(job) or is_deleting(job):
        return None
    kept = spec_of(job).get("ttlSecondsAfterFinished")
    if kept is None:
        return None
    ended = next(
        seconds_of(one["lastTransitionTime"])
        for one in status_of(job)["conditions"]
        if one["type"] in {"Complete", "Failed"} and one["status"] == "True"
    )
    left = ended + float(kept) - cluster.clock.now()
    if left > 0:
        return left
    delete.delete(cluster, cluster.registry.named("jobs", "batch"), *key, DeleteOptions("Foreground", uid=uid_of(job)))
    return None


def _strays(storage: str, event: Event) -> Iterable[Key]:
    """Pods that are tracked for a job which is gone, or which has let go of them."""
    if storage == "/pods" and event.kind != "DELETED" and TRACKING in finalizers_of(event.obj):
        yield namespace_of(event.obj), name_of(event.obj)


def _release_stray(cluster: Cluster, key: Key) -> None:
    pod = cluster.store.get("/pods", *key)
    if pod is None or TRACKING not in finalizers_of(pod):
        return
    owner = controller_of(pod)
    job = cluster.store.get(JOBS, key[0], owner["name"]) if owner is not None else None
    if job is None or owner is None or uid_of(job) != owner["uid"] or (is_finished(job) and is_deleting(job)):
        _release(cluster, pod)
