"""The container in which the job's own processes run, whatever starts them."""

from __future__ import annotations

from typing import Any

from trainyard.common.contract.jobs import Role
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import beside, volumes
from trainyard.launcher.core.manifests.cluster import block
from trainyard.launcher.core.manifests.resources import requirements

Document = dict[str, Any]


def container(job: Job, role: Role, command: list[str], variables: list[Document]) -> Document:
    wants, resolution = block(job), job.resolution
    return {
        "name": labels.CONTAINER,
        "image": resolution.reference if resolution is not None and resolution.reference else "",
        "command": command,
        "env": [*variables, *beside.single_variables(wants)],
        "envFrom": beside.whole_objects(wants),
        "resources": requirements(job, role).manifest(wants),
        "securityContext": beside.container_security(wants),
        "volumeMounts": volumes.mounts(wants, source=job.spec.archive is not None),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def literal(text: str) -> str:
    """Kubernetes reads `$(NAME)` as a reference and `$$` as `$`, in variables and commands; nobody's text means that."""
    return text.replace("$", "$$")
