"""A launcher over a cluster: the bus in memory, the API server's double, and a kubelet that plays what a test wrote."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest_asyncio

from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.server import ClusterDouble
from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.testing.builders import spec
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.app import Launcher
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
        self.launchers: dict[str, tuple[Launcher, asyncio.Task[None]]] = {}

    async def start(self, member: str = "a") -> Launcher:
        state = self.state / member
        state.mkdir(exist_ok=True)
        settings = Settings(
            state=state,
            node="here",
            catalogue=self.state,
            cpu=1.0,
            memory=2**30,
            backend="kubernetes",
            kubeconfig=str(self.kubeconfig),
            namespace=NAMESPACE,
            member=member,
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
        while True:
            latest = await self.bus.latest("job", job)
            try:
                await self.bus.append(events.JobCancelling(job_id=job, by="ann"), after=latest[-1].seq)
                return
            except StaleSequence:
                continue

    async def kinds(self, job: str) -> list[str]:
        return [item.event.kind async for item in self.bus.history("job", job)]

    async def until(self, job: str, *kinds: str, within: float = 30) -> Any:
        """The job's last event, once it is one of these."""

        async def look() -> Any:
            event = (await self.bus.latest("job", job))[-1].event
            return event if event.kind in kinds else None

        return await eventually(look, within=within)


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
