"""What was seen of a cluster when somebody asked what it offers. A list that is None could not be looked at. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainyard.common.contract.inventory import Node
from trainyard.launcher.core.cluster.rights import Right

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_VERSION = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Running:
    """A DaemonSet or a Deployment."""

    name: str
    ready: int
    wanted: int


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    shared: bool
    """Pods of several nodes may write into it."""


@dataclass(frozen=True, slots=True)
class Survey:
    namespace: str
    version: str
    """`v1.36.2`."""
    groups: frozenset[str]
    """Every version of every API group: `batch/v1`."""
    nodes: tuple[Node, ...] | None = ()
    daemons: tuple[Running, ...] | None = ()
    """The DaemonSets of all namespaces."""
    services: tuple[Running, ...] | None = ()
    """Trainyard's own Deployments in the namespace."""
    queues: tuple[str, ...] | None = ()
    """The LocalQueues of the namespace."""
    classes: Mapping[str, bool] | None = None
    """StorageClass → whether it is the default."""
    claims: tuple[Claim, ...] | None = ()
    security: str | None = None
    """The pod security standard that the namespace enforces; None: none."""
    exists: bool = True
    """The namespace does."""
    definition: Mapping[str, Any] | None = None
    """The CustomResourceDefinition of TrainingJob; None: there is none; empty: looking was not allowed."""
    denied: tuple[Right, ...] = ()
    """Of the rights that were asked for, those that this account has not."""

    @property
    def minor(self) -> tuple[int, int]:
        """(1, 36); (0, 0) for a version that nobody can read."""
        found = _VERSION.match(self.version)
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def has(self, group: str) -> bool:
        return any(version.partition("/")[0] == group for version in self.groups)


def running(document: Mapping[str, Any]) -> Running:
    """A DaemonSet or a Deployment as the API server has it."""
    status, spec = document.get("status") or {}, document.get("spec") or {}
    wanted = status.get("desiredNumberScheduled", spec.get("replicas", 1))
    return Running(
        document["metadata"]["name"], int(status.get("numberReady", status.get("readyReplicas", 0))), int(wanted)
    )


def claim(document: Mapping[str, Any]) -> Claim:
    modes = (document.get("spec") or {}).get("accessModes") or ()
    return Claim(document["metadata"]["name"], "ReadWriteMany" in modes)


def is_default(document: Mapping[str, Any]) -> bool:
    return (document["metadata"].get("annotations") or {}).get(DEFAULT_CLASS) == "true"
