"""What stands beside the job's own process: security, variables from the cluster, init containers and sidecars."""

from __future__ import annotations

from typing import Any

from trainyard.common.contract.kubernetes import Container, Kubernetes
from trainyard.launcher.core.manifests import volumes
from trainyard.launcher.core.manifests.resources import cpu

Document = dict[str, Any]


def pod_security(wants: Kubernetes) -> Document:
    """Source: kubernetes.io, "Pod Security Standards"."""
    owned = {"runAsUser": wants.user, "runAsGroup": wants.user, "fsGroup": wants.user}
    if wants.security == "restricted":
        return {"runAsNonRoot": True, **owned, "seccompProfile": {"type": "RuntimeDefault"}}
    return {}


def container_security(wants: Kubernetes) -> Document:
    if wants.security == "restricted":
        return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"privileged": True} if wants.security == "privileged" else {}


def single_variables(wants: Kubernetes) -> list[Document]:
    """One key of an object, under a name."""
    return [
        {
            "name": wanted.name or wanted.key,
            "valueFrom": {
                "secretKeyRef" if wanted.secret else "configMapKeyRef": {
                    "name": wanted.secret or wanted.config_map,
                    "key": wanted.key,
                }
            },
        }
        for wanted in wants.env_from
        if wanted.key is not None
    ]


def whole_objects(wants: Kubernetes) -> list[Document]:
    return [
        {"secretRef" if wanted.secret else "configMapRef": {"name": wanted.secret or wanted.config_map}}
        for wanted in wants.env_from
        if wanted.key is None
    ]


def init(wants: Kubernetes) -> list[Document]:
    return [_container(wanted, wants) for wanted in wants.init]


def sidecars(wants: Kubernetes) -> list[Document]:
    """Init containers that are always restarted: Kubernetes ends them with the pod, and they never decide its end."""
    return [{**_container(wanted, wants), "restartPolicy": "Always"} for wanted in wants.sidecars]


def _container(wanted: Container, wants: Kubernetes) -> Document:
    return {
        "name": wanted.name,
        "image": wanted.image,
        **({"command": list(wanted.command)} if wanted.command else {}),
        "env": [{"name": name, "value": value} for name, value in sorted(wanted.env.items())],
        "resources": {"requests": {"cpu": cpu(wanted.cpu), "memory": str(wanted.memory)}},
        "securityContext": container_security(wants),
        "volumeMounts": volumes.wished(wants),
    }
