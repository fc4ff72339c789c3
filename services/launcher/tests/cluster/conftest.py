"""A launcher over a cluster: the bus in memory, the API server's double, and a kubelet that plays what a test wrote."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio
import yaml

from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.server import ClusterDouble
from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.clock import rfc3339
from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.testing.builders import spec
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.app import Launcher
from trainyard.launcher.core.avoiding.verdict import Rules
from trainyard.launcher.settings import Settings

NAMESPACE = "default"
IMAGE = "registry.example.com/pytorch@sha256:" + "a" * 64


class ClusterWorld:
    def __init__(self, state: Path, kubeconfig: Path, double: ClusterDouble | None, kubelet: ScriptedKubelet) -> None:
        self.state = state
        self.kubeconfig = kubeconfig
        self.double = double
        """None on a real control plane."""
        self.kubelet = kubelet
        self.bus = MemoryBus()
        self.bad_nodes = Rules()
        self.launchers: dict[str, tuple[Launcher, asyncio.Task[None]]] = {}

    async def start(self, member: str = "a", namespaces: frozenset[str] = frozenset()) -> Launcher:
        state = self.state / member
        state.mkdir(exist_ok=True)
        settings = Settings(
            state=state,
            logs=state / "logs",
            node="here",
            catalogue=self.state,
            cpu=1.0,
            memory=2**30,
            backend="kubernetes",
            # With the rights that it ships with, where a test run brings a kubeconfig of them.
            kubeconfig=os.environ.get("TRAINYARD_TEST_LAUNCHER_KUBECONFIG", str(self.kubeconfig)),
            namespace=NAMESPACE,
            namespaces=namespaces,
            member=member,
            bad_nodes=self.bad_nodes,
        )
        launcher = Launcher(settings, self.bus)
        await launcher.start()
        self.launchers[member] = (launcher, asyncio.create_task(launcher.run()))
        return launcher

    async def kill(self, member: str = "a") -> None:
        """It dies at whatever line it is; nothing is tidied up."""
        launcher, task = self.launchers.pop(member)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await launcher.die()

    async def close(self) -> None:
        for member in list(self.launchers):
            with suppress(Exception):
                await self.kill(member)

    async def submit(self, **changes: Any) -> str:
        job, made = ids.new_job_id(), spec(**changes)
        seq = await self.bus.append(events.JobSubmitted(job_id=job, spec=made), after=0)
        resolution = events.Resolution(image="pytorch", reference=IMAGE)
        await self.bus.append(events.JobResolved(job_id=job, spec=made, resolution=resolution), after=seq)
        return job

    async def cancel(self, job: str) -> None:
        await self.tell(job, events.JobCancelling, by="ann")

    async def tell(self, job: str, kind: type[events.JobEvent], **fields: Any) -> None:
        while True:
            latest = await self.bus.latest("job", job)
            try:
                await self.bus.append(kind(job_id=job, **fields), after=latest[-1].seq)
                return
            except StaleSequence:
                await asyncio.sleep(0)

    async def kinds(self, job: str) -> list[str]:
        return [item.event.kind async for item in self.bus.history("job", job)]

    async def until(self, job: str, *kinds: str, within: float = 30) -> Any:
        """The job's last event, once it is one of these."""

        async def look() -> Any:
            event = (await self.bus.latest("job", job))[-1].event
            return event if event.kind in kinds else None

        return await eventually(look, within=within)

    async def seen(self, job: str, kind: str, within: float = 30) -> Any:
        """The first event of a kind in the job's history."""

        async def look() -> Any:
            told = [item.event async for item in self.bus.history("job", job) if item.event.kind == kind]
            return told[0] if told else None

        return await eventually(look, within=within)

    # What follows looks at the cluster and meddles with it, as an administrator would.

    def call(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        config = yaml.safe_load(self.kubeconfig.read_text())
        token = config["users"][0]["user"]["token"]
        answer = httpx.request(
            method,
            f"{config['clusters'][0]['cluster']['server']}{path}",
            content=json.dumps(body) if body is not None else None,
            headers={"Content-Type": content, "Authorization": f"Bearer {token}"},
            verify=False,  # noqa: S501 - a control plane on loopback, with a certificate of its own
        )
        answer.raise_for_status()
        return answer.json()

    def items(self, path: str, job: str) -> list[Any]:
        return self.call("GET", f"{path}?labelSelector=trainyard.dev/job%3D{job}")["items"]

    def pods(self, job: str) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.items(PODS, job) if "deletionTimestamp" not in pod["metadata"]]

    def running(self, job: str) -> list[str]:
        """Pods whose container runs."""
        return [pod["metadata"]["name"] for pod in self.items(PODS, job) if pod["status"].get("phase") == "Running"]

    def nodes(self, job: str) -> set[str]:
        return {pod["spec"]["nodeName"] for pod in self.items(PODS, job)}

    def objects(self, job: str) -> list[tuple[str, str]]:
        kinds = {"Job": JOBS, "ConfigMap": f"{CORE}/configmaps", "Service": f"{CORE}/services", "Pod": PODS}
        return [(kind, item["metadata"]["name"]) for kind, path in kinds.items() for item in self.items(path, job)]

    def disrupt(self, job: str, reason: str) -> None:
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "",
                     "lastTransitionTime": rfc3339(datetime.now(UTC))}  # fmt: skip
        for pod in self.pods(job):
            patch = {"status": {"conditions": [condition]}}
            self.call("PATCH", f"{PODS}/{pod}/status", patch, "application/strategic-merge-patch+json")

    def delete_pods(self, job: str) -> None:
        for pod in self.pods(job):
            self.call("DELETE", f"{PODS}/{pod}")

    def delete_makers(self, job: str) -> None:
        for item in self.items(JOBS, job):
            self.call("DELETE", f"{JOBS}/{item['metadata']['name']}?propagationPolicy=Background")

    def apply(self, document: Any) -> None:
        path = f"{PATHS[document['kind']]}/{document['metadata']['name']}?fieldManager=test&force=true"
        self.call("PATCH", path, document, "application/apply-patch+yaml")

    def remove(self, kind: str, name: str) -> None:
        self.call("DELETE", f"{PATHS[kind]}/{name}")


CORE = f"/api/v1/namespaces/{NAMESPACE}"
PODS = f"{CORE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
TRAINING_JOBS = f"/apis/trainyard.dev/v1alpha1/namespaces/{NAMESPACE}/trainingjobs"
PATHS = {
    "ResourceQuota": f"{CORE}/resourcequotas",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "TrainingJob": TRAINING_JOBS,
}
NODES = [NodeSpec("n0"), NodeSpec("n1")]


@pytest_asyncio.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[ClusterWorld]:
    """On the double; with TRAINYARD_TEST_KUBECONFIG on that control plane, whose nodes the scripted kubelet adds."""
    real = os.environ.get("TRAINYARD_TEST_KUBECONFIG")
    with ExitStack() as stack:
        double = None if real else stack.enter_context(ClusterDouble())
        kubeconfig = double.kubeconfig(tmp_path) if double is not None else Path(str(real))
        kubelet = stack.enter_context(ScriptedKubelet(kubeconfig, NODES))
        world = ClusterWorld(tmp_path, kubeconfig, double, kubelet)
        await world.start()
        yield world
        await world.close()
