"""The only wiring of the monitor."""

from __future__ import annotations

import asyncio

from prometheus_client import REGISTRY
from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus
from trainyard.common.contract.commands import ShowMatrix
from trainyard.common.runtime.guard import Guard
from trainyard.monitor import handlers
from trainyard.monitor.adapters import gateway, http
from trainyard.monitor.adapters.gateway import Gateway
from trainyard.monitor.adapters.host import HostCollector
from trainyard.monitor.adapters.metrics import FleetCollector
from trainyard.monitor.core.fleet import Fleet
from trainyard.monitor.core.snapshot import snapshot
from trainyard.monitor.settings import Settings


class Monitor:
    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._settings = settings
        self._bus = bus
        self._fleet = Fleet()
        self._gateway = Gateway(settings.api_url)

    async def start(self) -> ASGIApp:
        REGISTRY.register(FleetCollector(self._fleet))
        app = http.create(
            self._fleet,
            lambda: {**snapshot(self._fleet), "api": self._settings.api_url},
            lambda: self._bus.request(ShowMatrix()),
        )
        app.include_router(gateway.router(self._gateway))
        return Guard(
            app, tokens=self._settings.tokens, host=self._settings.host, local_owner=self._settings.local_owner
        )

    async def run(self) -> None:
        settings = self._settings
        async with asyncio.TaskGroup() as group:
            group.create_task(handlers.follow_events(self._fleet, self._bus))
            group.create_task(handlers.observe_devices(self._fleet, self._bus))
            group.create_task(
                handlers.sample(self._fleet, self._bus, HostCollector(), settings.node, settings.interval)
            )

    async def ready(self) -> str | None:
        return None

    async def close(self) -> None:
        """Nothing else is held that the log does not hold."""
        await self._gateway.close()


def build(settings: Settings, bus: Bus) -> Monitor:
    return Monitor(settings, bus)
