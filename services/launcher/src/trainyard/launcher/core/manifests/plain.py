"""Pods whose image need not have a Python: the user's command is the container's own, without the runner.

For commands of the framework `generic` that are no Python, one process a pod and one role. What the runner would do is left
to Kubernetes: the rank is the completion index, folders are mounts of their own, the end is the container's. Nothing reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import planned
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.container import container, literal
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.manifests.shapes import Shape, shape
from trainyard.launcher.core.plan import INTERPRETERS, RankPlan

Document = dict[str, Any]

_INDEX = {
    Shape.JOBS: "metadata.annotations['batch.kubernetes.io/job-completion-index']",
    Shape.JOB_SET: "metadata.annotations['batch.kubernetes.io/job-completion-index']",
    Shape.VOLCANO: "metadata.annotations['volcano.sh/task-index']",
}
RANK = "TRAINYARD_RANK"
_OF_THE_RUNNER = frozenset({"TRAINYARD_REPORT", "PYTHONPATH"})


def fits(job: Job) -> bool:
    roles = job.spec.all_roles()
    if job.spec.framework.name != "generic" or len(roles) != 1 or job.spec.archive:
        return False  # who would unpack it
    role = next(iter(roles.values()))
    if block(job).host_network and role.replicas > 1:
        return False  # each rank has a port of its own there, and Kubernetes cannot add the index to it
    command = role.command or job.spec.command
    return role.processes == 1 and command[0].rpartition("/")[2] not in INTERPRETERS


def main(job: Job, cluster: Cluster, names: Names, ranks: Sequence[RankPlan]) -> Document:
    name, role = next(iter(job.spec.all_roles().items()))
    port = ranks[0].env["TRAINYARD_ENDPOINT"].rpartition(":")[2]
    same = planned.common(ranks)
    index = {"name": RANK, "valueFrom": {"fieldRef": {"fieldPath": _INDEX[shape(job, cluster)]}}}
    endpoint = f"{names.host(name, f'$({RANK})')}:{port}"
    hidden = {RANK, "TRAINYARD_ENDPOINT", *_OF_THE_RUNNER}
    variables = [{"name": key, "value": literal(value)} for key, value in same.items() if key not in hidden]
    made = container(
        job,
        role,
        [literal(word) for word in ranks[0].command],
        [index, *variables, {"name": "TRAINYARD_ENDPOINT", "value": endpoint}],
    )
    folders = [
        {"name": "trainyard-volume", "mountPath": path, "subPath": path.removeprefix(f"{planned.VOLUME}/")}
        for path in (same["TRAINYARD_OUTPUT"], same["TRAINYARD_CHECKPOINT"])
    ]
    return {**made, "workingDir": ranks[0].cwd, "volumeMounts": [*made["volumeMounts"], *folders]}
