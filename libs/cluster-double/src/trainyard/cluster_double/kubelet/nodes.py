"""The nodes that a scripted kubelet speaks for: made at its start, kept alive by leases, taken away at its end."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trainyard.cluster_double.core.objects import Json, micro_stamp, stamp
from trainyard.cluster_double.kubelet.client import STRATEGIC, Client, Refused

_RENEW = 10.0
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


@dataclass(frozen=True, slots=True)
class NodeSpec:
    name: str
    cpu: str = "8"
    memory: str = "32Gi"
    pods: int = 110
    more: Mapping[str, str] = field(default_factory=dict)
    """Extended resources: `{"nvidia.com/gpu": "4"}`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Json] = ()

    def document(self) -> Json:
        labels = {"kubernetes.io/hostname": self.name, **self.labels}
        spec = {"taints": list(self.taints)} if self.taints else {}
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name, "labels": labels}, "spec": spec}

    def status(self, port: int) -> Json:
        room = {"cpu": self.cpu, "memory": self.memory, "pods": str(self.pods), **self.more}
        return {
            "capacity": room,
            "allocatable": room,
            # No host name: an API server would ask for logs there first, and the name of a scripted node leads nowhere.
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            "nodeInfo": _INFO,
            "conditions": [ready("True", "KubeletReady", "kubelet is posting ready status")],
        }


_INFO = {
    "kubeletVersion": "v1.36.2",
    "architecture": "amd64",
    "operatingSystem": "linux",
    "containerRuntimeVersion": "scripted://1",
    "kubeProxyVersion": "",
    "osImage": "",
    "kernelVersion": "",
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
}


def ready(status: str, reason: str, message: str) -> Json:
    now = stamp(time.time())
    head = {"type": "Ready", "status": status, "lastHeartbeatTime": now, "lastTransitionTime": now}
    return {**head, "reason": reason, "message": message}


class Node:
    """One node that is alive until it is lost."""

    def __init__(self, spec: NodeSpec, client: Client) -> None:
        self.spec = spec
        self._client = client
        self.alive = asyncio.Event()
        self.alive.set()

    async def join(self, port: int) -> None:
        try:
            await self._client.request("POST", "/api/v1/nodes", self.spec.document())
        except Refused as refused:
            if refused.code != 409:
                raise
        await self.report(self.spec.status(port))

    async def report(self, status: Json) -> None:
        path = f"/api/v1/nodes/{self.spec.name}/status"
        await self._client.request("PATCH", path, {"status": status}, STRATEGIC)

    async def leave(self) -> None:
        for path in (f"/api/v1/nodes/{self.spec.name}", f"{_LEASES}/{self.spec.name}"):
            with contextlib.suppress(Refused):  # somebody was faster
                await self._client.request("DELETE", path)

    async def renew(self) -> None:
        """For as long as the node lives: a lease that says so."""
        while True:
            await self.alive.wait()
            lease = {
                "holderIdentity": self.spec.name,
                "leaseDurationSeconds": 40,
                "renewTime": micro_stamp(time.time()),
            }
            head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": self.spec.name}}
            path = f"{_LEASES}/{self.spec.name}?fieldManager=scripted-kubelet&force=true"
            await self._client.request("PATCH", path, {**head, "spec": lease}, "application/apply-patch+yaml")
            await asyncio.sleep(_RENEW)
