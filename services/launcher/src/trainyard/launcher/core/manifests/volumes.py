"""The volumes of a pod: what the launcher needs itself, /dev/shm, and what the job file asks for."""

from __future__ import annotations

from typing import Any

from trainyard.common.contract.kubernetes import Kubernetes, Volume
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import planned, sources
from trainyard.launcher.core.manifests.cluster import Cluster
from trainyard.launcher.core.manifests.names import Names

Document = dict[str, Any]


def of(job: Job, cluster: Cluster, names: Names, wants: Kubernetes, memory: int) -> list[Document]:
    """`memory`: bytes that the pod asks for; half of it bounds /dev/shm unless the job says otherwise."""
    archive = job.spec.archive
    results = (
        {"persistentVolumeClaim": {"claimName": cluster.output_claim}} if cluster.output_claim else {"emptyDir": {}}
    )
    return [
        {"name": "trainyard-plan", "configMap": {"name": names.root}},
        {"name": "trainyard-lib", "configMap": {"name": cluster.worker}},
        *([{"name": "trainyard-source", "configMap": {"name": sources.name(archive)}}] if archive else []),
        {"name": "trainyard-run", "emptyDir": {}},
        {"name": "trainyard-volume", **results},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(wants.shared_memory or memory // 2)}},
        *({"name": f"volume-{number}", **_source(volume)} for number, volume in enumerate(wants.volumes)),
    ]


def mounts(wants: Kubernetes, *, source: bool = False) -> list[Document]:
    """Of the job's own container. `source`: its folder comes as an archive."""
    sent = {"name": "trainyard-source", "mountPath": planned.SOURCE.rpartition("/")[0], "readOnly": True}
    return [
        {"name": "trainyard-plan", "mountPath": planned.PLAN.rpartition("/")[0], "readOnly": True},
        {"name": "trainyard-lib", "mountPath": planned.WORKER.rpartition("/")[0], "readOnly": True},
        *([sent] if source else []),
        {"name": "trainyard-run", "mountPath": planned.RUN},
        {"name": "trainyard-volume", "mountPath": planned.VOLUME},
        {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - where every library looks for shared memory
        *wished(wants),
    ]


def wished(wants: Kubernetes) -> list[Document]:
    """Of every container: the volumes that the job names."""
    return [
        {
            "name": f"volume-{number}",
            "mountPath": volume.mount,
            **({"subPath": volume.sub_path} if volume.sub_path else {}),
            **({"readOnly": True} if volume.read_only else {}),
        }
        for number, volume in enumerate(wants.volumes)
    ]


def _source(volume: Volume) -> Document:
    if volume.claim is not None:
        return {
            "persistentVolumeClaim": {
                "claimName": volume.claim,
                **({"readOnly": True} if volume.read_only else {}),
            }
        }
    if volume.config_map is not None:
        return {"configMap": {"name": volume.config_map}}
    if volume.secret is not None:
        return {"secret": {"secretName": volume.secret}}
    return {"emptyDir": {"sizeLimit": str(volume.empty), **({"medium": "Memory"} if volume.memory else {})}}
