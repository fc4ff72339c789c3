"""The objects whose controllers make the pods: a Job for each role, unless something better is installed or asked for."""

from __future__ import annotations

from typing import Any

from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import mode_of
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import planned, pods
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.plan import AttemptPlan

Document = dict[str, Any]

QUEUE = "kueue.x-k8s.io/queue-name"


def jobs(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> list[Document]:
    """An Indexed Job for each role. A pod that ends badly is not made again: whether all begin anew, the launcher says."""
    ranks, roles = planned.by_role(plan), job.spec.all_roles()
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": names.maker(name),
                "namespace": names.namespace,
                "labels": {**cluster.labels, **pods.marks(job, name), **queue(job, cluster)},
            },
            "spec": {
                "completionMode": "Indexed",
                "completions": (count := len(ranks[name]) // ranks[name][0].place.processes),
                "parallelism": count,
                "podReplacementPolicy": "Failed",
                **_retries(job, name),
                **({"suspend": True} if queue(job, cluster) else {}),
                "template": pods.template(job, cluster, names, name, roles[name], ranks[name]),
            },
        }
        for name in ranks
    ]


def queue(job: Job, cluster: Cluster) -> dict[str, str]:
    """Kueue's label, where Kueue decides when the job starts."""
    wants = block(job)
    by_kueue = wants.gang == "kueue" or (wants.gang == "auto" and wants.queue is not None and cluster.offers.kueue)
    return {QUEUE: wants.queue} if by_kueue and wants.queue is not None else {}


def _retries(job: Job, role: str) -> Document:
    """A replica that may come back by itself does so within the attempt; otherwise its end is the attempt's."""
    elastic = job.spec.framework.elastic
    adapter = ADAPTERS[job.spec.framework.name]
    if elastic is not None and mode_of(job.spec.framework) in adapter.units and role == "worker":
        return {"backoffLimitPerIndex": elastic.restarts, "maxFailedIndexes": 0}
    return {"backoffLimit": 0}
