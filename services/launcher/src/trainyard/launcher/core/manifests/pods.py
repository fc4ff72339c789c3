"""The template from which the pods of a role are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trainyard.common.contract.jobs import Role
from trainyard.common.contract.kubernetes import Kubernetes
from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import beside, plain, planned, scheduling, volumes
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.container import container, literal
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.manifests.resources import requirements
from trainyard.launcher.core.manifests.shapes import by_kueue
from trainyard.launcher.core.plan import RankPlan

Document = dict[str, Any]

RUNNER = ("python", "-m", "trainyard.worker.pod")


def marks(job: Job, role: str | None = None) -> dict[str, str]:
    """The labels of an object of this attempt."""
    return {
        labels.MANAGED_BY: labels.OURS,
        "app.kubernetes.io/name": job.spec.name,
        labels.JOB: job.job_id,
        labels.ATTEMPT: str(job.attempt),
        **({labels.ROLE: role} if role is not None else {}),
    }


def template(job: Job, cluster: Cluster, names: Names, name: str, ranks: Sequence[RankPlan]) -> Document:
    """`ranks`: of all replicas of the role."""
    wants, role = block(job), job.spec.all_roles()[name]
    processes = ranks[0].place.processes
    return {
        "metadata": {
            "labels": {**cluster.labels, **wants.labels, **marks(job, name)},
            "annotations": {**wants.annotations, labels.RANKS: f"{ranks[0].place.rank}/{processes}"},
        },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": math.ceil(job.spec.timeouts.grace)
            + 5,  # the runner's own end comes before
            "subdomain": names.root,
            "automountServiceAccountToken": wants.service_account is not None,
            "enableServiceLinks": False,
            **_account(cluster, wants),
            **_network(wants),
            **_priority(job, cluster),
            "securityContext": beside.pod_security(wants),
            **scheduling.placed(job, cluster, wants, name),
            "initContainers": [*beside.init(wants), *beside.sidecars(wants)],
            "containers": [plain.main(job, cluster, names, ranks) if plain.fits(job) else _main(job, role, ranks)],
            "volumes": volumes.of(job, cluster, names, wants, requirements(job, role).memory),
        },
    }


def _main(job: Job, role: Role, ranks: Sequence[RankPlan]) -> Document:
    variables = {**planned.common(ranks), "TRAINYARD_PLAN": planned.PLAN, "TRAINYARD_HOSTS": "wait"}
    return container(job, role, list(RUNNER), [{"name": n, "value": literal(v)} for n, v in variables.items()])


def _account(cluster: Cluster, wants: Kubernetes) -> Document:
    secrets = [*cluster.image_pull_secrets, *wants.image_pull_secrets]
    account = wants.service_account or cluster.service_account
    return {
        **({"imagePullSecrets": [{"name": name} for name in dict.fromkeys(secrets)]} if secrets else {}),
        **({"serviceAccountName": account} if account else {}),
    }


def _network(wants: Kubernetes) -> Document:
    return {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"} if wants.host_network else {}


def _priority(job: Job, cluster: Cluster) -> Document:
    """Under Kueue it is the workload's (see makers.PRIORITY)."""
    name = block(job).priority_class
    return {"priorityClassName": name} if name and not by_kueue(job, cluster) else {}
