"""The objects whose controllers make the pods, by shape (see `shapes`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import mode_of
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import planned, pods
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.names import Names, short
from trainyard.launcher.core.manifests.shapes import Shape, by_kueue, shape
from trainyard.launcher.core.plan import AttemptPlan, RankPlan

Document = dict[str, Any]

QUEUE = "kueue.x-k8s.io/queue-name"
PRIORITY = "kueue.x-k8s.io/priority-class"
"""Names a WorkloadPriorityClass: the order in the queue, which pods' own priority is not."""
NO_POLICY = "--disable-network-policy=true"
"""Volcano would close the job's pods to everybody else, monitoring included."""


def makers(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> list[Document]:
    return _SHAPES[shape(job, cluster)](job, cluster, names, plan)


def _jobs(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> list[Document]:
    """A pod that ends badly is not made again: whether all begin anew, the launcher says."""
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": _metadata(job, cluster, names, names.maker(role), role),
            "spec": {**_job(job, cluster, names, role, ranks), **_suspended(job, cluster)},
        }
        for role, ranks in planned.by_role(plan).items()
    ]


def _job_set(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> list[Document]:
    """Its Jobs bear none of our labels: they are the JobSet's, and go with it."""
    replicated = [
        {"name": short(role), "replicas": 1, "template": {"spec": _job(job, cluster, names, role, ranks)}}
        for role, ranks in planned.by_role(plan).items()
    ]
    return [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": _metadata(job, cluster, names, names.root),
            "spec": {
                "replicatedJobs": replicated,
                "failurePolicy": {"maxRestarts": 0},
                "network": {"enableDNSHostnames": False},  # the attempt's own Service names the pods in every shape
                **_suspended(job, cluster),
            },
        }
    ]


def _volcano(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> list[Document]:
    wants, roles = block(job), planned.by_role(plan)
    tasks = [
        {
            "name": short(role),
            "replicas": _pods(ranks),
            "template": pods.template(job, cluster, names, role, ranks),
        }
        for role, ranks in roles.items()
    ]
    return [
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": _metadata(job, cluster, names, names.root),
            "spec": {
                "schedulerName": "volcano",
                "minAvailable": sum(_pods(ranks) for ranks in roles.values()),
                # `svc` gives the pods their host names, `env` their index.
                "plugins": {"svc": ["--publish-not-ready-addresses=true", NO_POLICY], "env": []},
                **({"queue": wants.queue} if wants.queue else {}),
                **({"priorityClassName": wants.priority_class} if wants.priority_class else {}),
                "tasks": tasks,
            },
        }
    ]


_SHAPES: dict[Shape, Callable[[Job, Cluster, Names, AttemptPlan], list[Document]]] = {
    Shape.JOBS: _jobs,
    Shape.JOB_SET: _job_set,
    Shape.VOLCANO: _volcano,
}


def _metadata(job: Job, cluster: Cluster, names: Names, name: str, role: str | None = None) -> Document:
    marks = {**cluster.labels, **pods.marks(job, role), **queue(job, cluster)}
    return {"name": name, "namespace": names.namespace, "labels": marks}


def _job(job: Job, cluster: Cluster, names: Names, role: str, ranks: Sequence[RankPlan]) -> Document:
    return {
        "completionMode": "Indexed",
        "completions": _pods(ranks),
        "parallelism": _pods(ranks),
        "podReplacementPolicy": "Failed",
        **_retries(job, role, _pods(ranks)),
        "template": pods.template(job, cluster, names, role, ranks),
    }


def _pods(ranks: Sequence[RankPlan]) -> int:
    return len(ranks) // ranks[0].place.processes


def _suspended(job: Job, cluster: Cluster) -> Document:
    """Kueue starts it; nobody else may."""
    return {"suspend": True} if queue(job, cluster) else {}


def queue(job: Job, cluster: Cluster) -> dict[str, str]:
    """Kueue's labels, where Kueue decides when the job starts."""
    wants = block(job)
    if not by_kueue(job, cluster) or wants.queue is None:
        return {}
    return {QUEUE: wants.queue, **({PRIORITY: wants.priority_class} if wants.priority_class else {})}


def _retries(job: Job, role: str, replicas: int) -> Document:
    """A replica that may come back by itself does so within the attempt; otherwise its end is the attempt's.

    Where fewer replicas suffice, as many may stay away; 0 would end the others with the first that has no retry left.
    """
    elastic = job.spec.framework.elastic
    adapter = ADAPTERS[job.spec.framework.name]
    if elastic is not None and mode_of(job.spec.framework) in adapter.units and role == "worker":
        spare = max(0, replicas - elastic.min_replicas)
        return {"backoffLimitPerIndex": elastic.restarts, "maxFailedIndexes": spare}
    return {"backoffLimit": 0}
