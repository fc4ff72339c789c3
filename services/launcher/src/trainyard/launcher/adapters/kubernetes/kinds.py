"""The kinds of objects that the launcher reads and writes, and the paths where the API server keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    group_version: str
    """`v1`, `batch/v1`."""
    name: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str | None = None, part: str | None = None) -> str:
        """Of all objects, those of a namespace, one of them, or a part of it (`status`, `log`)."""
        root = f"/api/{self.group_version}" if "/" not in self.group_version else f"/apis/{self.group_version}"
        where = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        which = f"/{name}" if name else ""
        return f"{root}{where}/{self.plural}{which}{f'/{part}' if part else ''}"


CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
SERVICE = Kind("v1", "Service", "services")
POD = Kind("v1", "Pod", "pods")
NODE = Kind("v1", "Node", "nodes", namespaced=False)
JOB = Kind("batch/v1", "Job", "jobs")
EVENT = Kind("v1", "Event", "events")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
JOB_SET = Kind("jobset.x-k8s.io/v1alpha2", "JobSet", "jobsets")
VOLCANO_JOB = Kind("batch.volcano.sh/v1alpha1", "Job", "jobs")
TRAINING_JOB = Kind("trainyard.dev/v1alpha1", "TrainingJob", "trainingjobs")

KINDS = (
    CONFIG_MAP, SERVICE, POD, NODE, JOB, EVENT, LEASE, JOB_SET, VOLCANO_JOB, TRAINING_JOB,
)  # fmt: skip
_BY_NAME = {(kind.group_version, kind.name): kind for kind in KINDS}


def kind_named(group_version: str, name: str) -> Kind:
    """Raises KeyError for what the launcher never writes."""
    return _BY_NAME[group_version, name]


def kind_of(manifest: dict[str, Any]) -> Kind:
    """Raises KeyError for what the launcher never writes."""
    return kind_named(manifest["apiVersion"], manifest["kind"])
