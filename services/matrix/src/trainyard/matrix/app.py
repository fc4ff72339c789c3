"""The only wiring of the matrix."""

from __future__ import annotations

from functools import partial

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus, Subscription
from trainyard.common.clock import SystemClock
from trainyard.common.contract import subjects
from trainyard.common.contract.inventory import BUCKET
from trainyard.common.runtime.consuming import ConsumingService
from trainyard.matrix import commands
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.adapters.nodes import BucketNodes
from trainyard.matrix.handlers import HANDLERS, Matrix
from trainyard.matrix.settings import Settings


class MatrixService:
    """Knows the nodes before it answers."""

    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._settings = settings
        self._bus = bus

    async def start(self) -> ASGIApp | None:
        facts = shipped()
        self._nodes = BucketNodes(await self._bus.keyvalue(BUCKET), facts.hardware, SystemClock())
        await self._nodes.load()
        matrix = Matrix.of(
            self._bus, CatalogueImages(self._settings.catalogue, self._settings.pins), facts, self._nodes
        )
        self._consuming = ConsumingService(
            self._bus,
            [
                (
                    Subscription(f"matrix-{event.kind}", (subjects.of_kind(event.entity, event.kind),), concurrency=64),
                    partial(handler, matrix),
                )
                for event, handler in HANDLERS.items()
            ],
            commands.bound(matrix),
        )
        return await self._consuming.start()

    async def run(self) -> None:
        await self._nodes.follow()

    async def ready(self) -> str | None:
        return await self._consuming.ready()

    async def close(self) -> None:
        await self._consuming.close()


def build(settings: Settings, bus: Bus) -> MatrixService:
    return MatrixService(settings, bus)
