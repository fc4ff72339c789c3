"""Where the pods of a job may and should stand."""

from __future__ import annotations

from typing import Any

from trainyard.common.contract.kubernetes import Kubernetes, Toleration
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests.cluster import Cluster

Document = dict[str, Any]

NAME = "metadata.name"


def placed(job: Job, cluster: Cluster, wants: Kubernetes, role: str) -> Document:
    """The parts of a pod's spec that say so; nothing where nothing is asked for."""
    affinity = {**_nodes(job), **_near(job, wants)}
    tolerations = [*map(_toleration, (*cluster.tolerations, *wants.tolerations)), *_of_accelerators(job)]
    return {
        **({"nodeSelector": dict(sorted(wants.node_selector.items()))} if wants.node_selector else {}),
        **({"affinity": affinity} if affinity else {}),
        **({"tolerations": tolerations} if tolerations else {}),
        **_spread(job, wants, role),
    }


def _nodes(job: Job) -> Document:
    """The product that the matrix chose, by the label that its nodes bear; and none of the nodes that are avoided: by their
    names, since a label may differ, each in a requirement of its own (the API takes one value for a name)."""
    wanted = job.resolution.node_labels if job.resolution is not None else {}
    labelled = [{"key": key, "operator": "In", "values": [value]} for key, value in sorted(wanted.items())]
    away = [{"key": NAME, "operator": "NotIn", "values": [name]} for name in sorted({item.node for item in job.avoids})]
    if not (labelled or away):
        return {}
    term = {
        **({"matchExpressions": labelled} if labelled else {}),
        **({"matchFields": away} if away else {}),
    }
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _near(job: Job, wants: Kubernetes) -> Document:
    if wants.placement != "pack":
        return {}
    term = {"topologyKey": wants.topology_key, "labelSelector": _this_attempt(job)}
    return {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}
    }


def _spread(job: Job, wants: Kubernetes, role: str) -> Document:
    del role
    if wants.placement != "spread":
        return {}
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": wants.topology_key,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": _this_attempt(job),
            }
        ]
    }


def _this_attempt(job: Job) -> Document:
    return {"matchLabels": {labels.JOB: job.job_id, labels.ATTEMPT: str(job.attempt)}}


def _toleration(wanted: Toleration) -> Document:
    return {
        **({"key": wanted.key} if wanted.key is not None else {}),
        "operator": "Exists" if wanted.value is None else "Equal",
        **({"value": wanted.value} if wanted.value is not None else {}),
        **({"effect": wanted.effect} if wanted.effect is not None else {}),
        **({"tolerationSeconds": wanted.seconds} if wanted.seconds is not None else {}),
    }


def _of_accelerators(job: Job) -> list[Document]:
    """Nodes with accelerators are often tainted with the resource's own name, to keep other pods away."""
    resources = job.resolution.resources if job.resolution is not None else {}
    return [{"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in sorted(resources)]
