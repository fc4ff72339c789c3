"""What has to be allowed: to a launcher, and to whoever installs Trainyard. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Right:
    group: str
    """API group; empty: the core's."""
    resource: str
    """`pods`, `pods/log`."""
    verb: str
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


def _rights(group: str, resource: str, verbs: str, *, namespaced: bool = True) -> Iterator[Right]:
    return (Right(group, resource, verb, namespaced) for verb in verbs.split())


LAUNCHER: tuple[Right, ...] = (
    *_rights("", "configmaps", "list watch create patch delete"),
    *_rights("", "services", "create patch"),
    *_rights("", "pods", "list watch"),
    *_rights("", "pods/log", "get"),
    *_rights("", "events", "list watch"),
    *_rights("", "nodes", "list watch", namespaced=False),
    *_rights("batch", "jobs", "get list watch create delete"),
    *_rights("coordination.k8s.io", "leases", "list watch create patch delete"),
    *_rights("trainyard.dev", "trainingjobs", "list watch patch"),
    *_rights("trainyard.dev", "trainingjobs/status", "patch"),
)
"""The role that ships says the same; a test compares the two."""

INSTALLER: tuple[Right, ...] = (
    *_rights("apiextensions.k8s.io", "customresourcedefinitions", "get create patch", namespaced=False),
    *_rights("rbac.authorization.k8s.io", "clusterroles", "get create patch", namespaced=False),
    *_rights("rbac.authorization.k8s.io", "clusterrolebindings", "get create patch", namespaced=False),
    *_rights("apps", "deployments", "get create patch"),
    *_rights("apps", "statefulsets", "get create patch"),
    *_rights("networking.k8s.io", "networkpolicies", "get create patch"),
    *_rights("policy", "poddisruptionbudgets", "get create patch"),
    *_rights("", "configmaps", "get create patch"),
    *_rights("", "persistentvolumeclaims", "get create patch"),
    *_rights("", "secrets", "get list create patch delete"),
    *_rights("", "serviceaccounts", "get create patch"),
    *_rights("", "services", "get create patch"),
)
"""What Helm does with the chart; its releases are Secrets."""
