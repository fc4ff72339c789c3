"""The only wiring of the launcher: one reconciler, over processes of this machine or over pods of a cluster."""

from __future__ import annotations

import asyncio
import platform

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus
from trainyard.common.clock import SystemClock
from trainyard.common.contract.inventory import BUCKET
from trainyard.common.projection.store import Store
from trainyard.common.sources.store import Sources
from trainyard.launcher import inventory
from trainyard.launcher.adapters.local import nvml
from trainyard.launcher.adapters.local.backend import LocalBackend
from trainyard.launcher.adapters.local.images import LocalImages
from trainyard.launcher.adapters.noop import NoopBackend
from trainyard.launcher.adapters.projection import SCHEMA, ActiveJobs
from trainyard.launcher.core.admission import Admission, Need, need_of
from trainyard.launcher.core.manifests.cluster import block
from trainyard.launcher.parts import Parts, Progress
from trainyard.launcher.reconciler import Reconciler
from trainyard.launcher.settings import Settings


class Launcher:
    """Ranks live on when it ends; the next one finds them."""

    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._settings = settings
        self._bus = bus
        self._clock = SystemClock()

    async def start(self) -> ASGIApp | None:
        settings = self._settings
        self._store = Store(settings.state / "launcher.sqlite", SCHEMA, await self._bus.identity())
        self._active = ActiveJobs(self._store)
        self._parts = await (self._cluster() if settings.backend == "kubernetes" else self._machine())
        self._reconciler = Reconciler(
            log=self._bus,
            active=self._active,
            parts=self._parts,
            noop=NoopBackend(settings.node),
            clock=self._clock,
        )
        return None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reconciler.run())
            for work in self._parts.work:
                group.create_task(work())

    async def ready(self) -> str | None:
        return None if self._reconciler.caught_up else "the active jobs are still being read from the log"

    async def close(self) -> None:
        for leave in self._parts.leave:
            await leave()
        await self.die()

    async def die(self) -> None:
        """Without a word to others, as after a kill: only what this process holds is let go."""
        for close in self._parts.close:
            await close()
        self._store.close()

    async def _machine(self) -> Parts:
        settings = self._settings
        devices = nvml.devices(settings.visible)
        nodes = await self._bus.keyvalue(BUCKET)
        node = inventory.this_machine(
            name=settings.node, machine=platform.machine(), cpu=settings.cpu, memory=settings.memory, devices=devices
        )
        return Parts(
            LocalBackend(settings.state, settings.node, devices, await Sources.open(self._bus)),
            LocalImages(settings.catalogue, settings.state / "images"),
            Admission(Need(settings.cpu, settings.memory, ranks=settings.ranks), devices),
            lambda job: need_of(job.spec, job.resolution),
            accelerators=lambda: nvml.devices(settings.visible),
            work=[lambda: inventory.tell(nodes, node, self._clock)],
        )

    async def _cluster(self) -> Parts:
        from trainyard.launcher.adapters.kubernetes import wiring  # noqa: PLC0415 - a second and 50 MiB

        await inventory.leave(await self._bus.keyvalue(BUCKET), self._settings.node)
        progress = Progress(lambda: self._reconciler.caught_up, self._attempt, self._namespace, self._active.nodes.all)
        return await wiring.parts(self._settings, self._bus, self._clock, progress)

    def _attempt(self, job_id: str) -> int | None:
        """The attempt of a job that counts; None: it has ended."""
        job = self._active.all().get(job_id)
        return job.attempt if job is not None and not job.head.terminal else None

    def _namespace(self, job_id: str) -> str | None:
        job = self._active.all().get(job_id)
        return block(job).namespace or self._settings.namespace if job is not None else None


def build(settings: Settings, bus: Bus) -> Launcher:
    return Launcher(settings, bus)
