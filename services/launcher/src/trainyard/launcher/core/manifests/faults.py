"""What of a job cannot be on this cluster, in sentences for whoever submitted it. One check, one function, one table."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

from trainyard.launcher.core.cluster.resource import owner_of
from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import Unit
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import planned
from trainyard.launcher.core.manifests.cluster import Cluster, block
from trainyard.launcher.core.manifests.planned import Draft, draft
from trainyard.launcher.core.manifests.shapes import by_kueue
from trainyard.launcher.core.plan import places

MAX_VARIABLE = 128 * 1024 - 1
"""Bytes of `NAME=value`, its end included: the kernel's MAX_ARG_STRLEN (execve(2))."""
MAX_ENVIRONMENT = 512 * 1024
"""Bytes that the variables of a pod's container may take: the pod's object has to fit into etcd's 1.5 MiB thrice (the
variables stand in the Job, in its managed fields and in the pod)."""
MAX_PLAN = 1_000_000
"""A ConfigMap holds 1 MiB."""

Check = Callable[[Job, Cluster], Iterator[str]]


def faults(job: Job, cluster: Cluster, drafted: Draft | None = None) -> list[str]:
    """Empty: it can be built and applied. `drafted`: of this job for this cluster; absent: it is made."""
    found = [sentence for check in CHECKS for sentence in check(job, cluster)]
    return [*found, *_sizes(drafted or draft(job, cluster))]


def _image(job: Job, cluster: Cluster) -> Iterator[str]:
    del cluster
    if job.resolution is None or not job.resolution.reference:
        yield (
            f"image {job.image or '(none yet)'} has no reference in a registry: nodes can only pull images that were pushed "
            "and pinned (`name@sha256:…` in the catalogue)"
        )


def _namespace(job: Job, cluster: Cluster) -> Iterator[str]:
    """Whose TrainingJob it is the API server has let into its namespace. Everybody else comes with the launcher's rights,
    which are those to mount every Secret and to use every service account of every namespace."""
    name = cluster.namespace_of(job)
    if cluster.namespaces and name not in cluster.namespaces:
        yield (
            f"`kubernetes.namespace: {name}`, but this launcher works in {', '.join(sorted(cluster.namespaces))} only: "
            "name one of them"
        )
    if not cluster.namespaces and name != cluster.namespace and job.owner != owner_of(name):
        yield (
            f"`kubernetes.namespace: {name}`, but who submits to Trainyard itself may use {cluster.namespace} only: leave it "
            f"out, apply a TrainingJob in {name}, or have TRAINYARD_NAMESPACES of the launcher name {name} too"
        )


def _gang(job: Job, cluster: Cluster) -> Iterator[str]:
    wants, offers = block(job), cluster.offers
    if wants.gang == "volcano" and not offers.volcano:
        yield "`kubernetes.gang: volcano`, but Volcano is not installed in this cluster; `gang: auto` takes what is there"
    if wants.gang == "kueue" and not offers.kueue:
        yield "`kubernetes.gang: kueue`, but Kueue is not installed in this cluster; `gang: auto` takes what is there"
    if wants.gang == "kueue" and wants.queue is None:
        yield "`kubernetes.gang: kueue` needs `kubernetes.queue`, the name of a LocalQueue"
    if wants.gang == "auto" and wants.queue is not None and not (offers.kueue or offers.volcano):
        yield f"`kubernetes.queue: {wants.queue}`, but neither Kueue nor Volcano is installed in this cluster"


def _all_or_nothing(job: Job, cluster: Cluster) -> Iterator[str]:
    """Kueue admits each Job by itself; several are one workload to it only inside of a JobSet."""
    roles = job.spec.all_roles()
    if by_kueue(job, cluster) and cluster.offers.kueue and len(roles) > 1 and not cluster.offers.jobset:
        yield (
            f"the roles {', '.join(sorted(roles))} are several Jobs, which Kueue starts together only inside of a JobSet: "
            "JobSet has to be installed, or the job has one role"
        )


def _one_for_all(job: Job, cluster: Cluster) -> Iterator[str]:
    """A framework's own launcher that starts every process would have to reach into other pods."""
    del cluster
    spec = job.spec
    roles = spec.all_roles()
    unit = ADAPTERS[spec.framework.name].unit(spec.framework, frozenset(roles))
    replicas = sum(role.replicas for role in roles.values())
    if unit is Unit.JOB and replicas > 1:
        yield (
            f"framework {spec.framework.name} starts all processes from one pod, and reaching {replicas} pods would need ssh "
            f"between them, which is not set up: say `replicas: 1` and `processes: {spec.world_size()}`"
        )


def _ports(job: Job, cluster: Cluster) -> Iterator[str]:
    del cluster
    ranks = len(places(job.spec))
    if block(job).host_network and ranks >= len(planned.HOST_PORTS):
        yield (
            f"`kubernetes.host_network` has a port for each rank, {len(planned.HOST_PORTS) - 1} at most, and there are "
            f"{ranks}: use the pods' own network"
        )


def _sizes(drafted: Draft) -> Iterator[str]:
    made = drafted.plan
    long = sorted(
        {n for rank in made.ranks for n, v in rank.env.items() if len(f"{n}={v}".encode()) > MAX_VARIABLE - 1}
    )
    for name in long:
        yield f"variable {name} is longer than the {MAX_VARIABLE} bytes that Linux gives a process: put it into a file"
    for role, ranks in planned.by_role(made).items():
        size = sum(len(f"{name}={value}".encode()) for name, value in planned.common(ranks).items())
        if size > MAX_ENVIRONMENT:
            yield (
                f"the variables of role {role} take {size} bytes, and a pod's may take {MAX_ENVIRONMENT}: put them into a "
                "ConfigMap and name it in `kubernetes.volumes`"
            )
    size = len(base64.b64decode(drafted.packed))
    if size > MAX_PLAN:
        yield f"the plan of {len(made.ranks)} ranks takes {size} bytes, and a ConfigMap holds {MAX_PLAN}"


CHECKS: tuple[Check, ...] = (_image, _namespace, _gang, _all_or_nothing, _one_for_all, _ports)
