"""The only wiring of the matrix."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus, Running, Subscription
from trainyard.common.contract import subjects
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.handlers import HANDLERS, Matrix
from trainyard.matrix.settings import Settings


class MatrixService:
    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._bus = bus
        self._matrix = Matrix(bus, CatalogueImages(settings.catalogue))
        self._running: list[Running] = []

    async def start(self) -> ASGIApp | None:
        for event, handler in HANDLERS.items():
            subscription = Subscription(
                durable=f"matrix-{event.kind}", filters=(subjects.of_kind(event.entity, event.kind),), concurrency=64
            )
            self._running.append(await self._bus.consume(subscription, partial(handler, self._matrix)))
        return None

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def ready(self) -> str | None:
        return None

    async def close(self) -> None:
        for running in self._running:
            await running.stop()


def build(settings: Settings, bus: Bus) -> MatrixService:
    return MatrixService(settings, bus)
