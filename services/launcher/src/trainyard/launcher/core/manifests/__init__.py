"""What an attempt of a job becomes on a cluster: documents, built purely and compared in tests. `shapes` has the table.

A root (a ConfigMap with the plan), a headless Service for the names of the pods, and what makes the pods. Everything but
the root is owned by it, so that deleting the root deletes all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import makers, pods, sources
from trainyard.launcher.core.manifests.cluster import Cluster, Offers, block
from trainyard.launcher.core.manifests.faults import faults
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.manifests.planned import Draft, draft
from trainyard.launcher.core.plan import AttemptPlan

Document = dict[str, Any]

__all__ = ["Cluster", "Manifests", "Offers", "build", "draft", "faults", "owned"]


@dataclass(frozen=True, slots=True)
class Manifests:
    root: Document
    rest: tuple[Document, ...]
    """In the order in which they are applied."""


def build(job: Job, cluster: Cluster, drafted: Draft | None = None) -> Manifests:
    """`drafted`: of this job for this cluster; absent: it is made."""
    names = Names.of(job, cluster)
    drafted = drafted or draft(job, cluster)
    plan = drafted.plan
    root = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": names.root,
            "namespace": names.namespace,
            "labels": {**cluster.labels, **pods.marks(job)},
            "annotations": {
                labels.KEEP: f"{block(job).keep:.0f}",
                **({labels.SOURCE: sources.name(job.spec.archive)} if job.spec.archive else {}),
            },
        },
        "binaryData": {"plan.json.gz": drafted.packed},
    }
    return Manifests(root, (_service(job, cluster, names, plan), *makers.makers(job, cluster, names, plan)))


def owned(made: Manifests, uid: str) -> list[Document]:
    """The rest, owned by the root, whose UID only the cluster knows."""
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": made.root["metadata"]["name"],
        "uid": uid,
        "blockOwnerDeletion": False,
    }
    return [{**item, "metadata": {**item["metadata"], "ownerReferences": [owner]}} for item in made.rest]


def _service(job: Job, cluster: Cluster, names: Names, plan: AttemptPlan) -> Document:
    """Names for the pods, also of those that are not ready yet: they have to find one another to become so."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": names.root,
            "namespace": names.namespace,
            "labels": {**cluster.labels, **pods.marks(job)},
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {labels.JOB: job.job_id, labels.ATTEMPT: str(job.attempt)},
            "ports": [{"name": "rendezvous", "port": int(plan.ranks[0].env["TRAINYARD_MASTER_PORT"])}],
        },
    }
