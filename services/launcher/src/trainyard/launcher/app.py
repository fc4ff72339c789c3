"""The only wiring of the launcher."""

from __future__ import annotations

import asyncio
import platform

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus
from trainyard.common.clock import SystemClock
from trainyard.common.contract.inventory import BUCKET
from trainyard.common.projection.store import Store
from trainyard.launcher import inventory
from trainyard.launcher.adapters.local import nvml
from trainyard.launcher.adapters.local.backend import LocalBackend
from trainyard.launcher.adapters.local.images import LocalImages
from trainyard.launcher.adapters.noop import NoopBackend
from trainyard.launcher.adapters.projection import SCHEMA, ActiveJobs
from trainyard.launcher.core.admission import Admission, Need
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
        devices = nvml.devices(settings.visible)
        self._nodes = await self._bus.keyvalue(BUCKET)
        self._node = inventory.this_machine(
            name=settings.node, machine=platform.machine(), cpu=settings.cpu, memory=settings.memory, devices=devices
        )
        self._store = Store(settings.state / "launcher.sqlite", SCHEMA, await self._bus.identity())
        self._reconciler = Reconciler(
            log=self._bus,
            active=ActiveJobs(self._store),
            backends={
                "default": LocalBackend(settings.state, settings.node, devices),
                "noop": NoopBackend(settings.node),
            },
            images=LocalImages(settings.catalogue, settings.state / "images"),
            admission=Admission(Need(settings.cpu, settings.memory, ranks=settings.ranks), devices),
            clock=self._clock,
        )
        return None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reconciler.run())
            group.create_task(inventory.tell(self._nodes, self._node, self._clock))

    async def ready(self) -> str | None:
        return None if self._reconciler.caught_up else "the active jobs are still being read from the log"

    async def close(self) -> None:
        self._store.close()


def build(settings: Settings, bus: Bus) -> Launcher:
    return Launcher(settings, bus)
