"""The only wiring of the converter."""

from __future__ import annotations

import asyncio
from functools import partial

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus, Running, Subscription
from trainyard.common.clock import SystemClock
from trainyard.common.contract import subjects
from trainyard.converter.adapters.images import ImageInterpreters
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.torch_exporter import TorchExporter
from trainyard.converter.conversion import Tools
from trainyard.converter.handlers import HANDLERS, Converter
from trainyard.converter.settings import Settings

AT_ONCE = 2
"""Conversions at a time: each loads a framework and a model."""


class ConverterService:
    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._bus = bus
        interpreters = ImageInterpreters(settings.catalogue, settings.state / "images")
        tools = Tools(
            exporter=TorchExporter(interpreters.python),
            serving=TritonServingCheck(settings.triton),
            clock=SystemClock(),
            state=settings.state,
        )
        self._converter = Converter(bus, tools)
        self._running: list[Running] = []

    async def start(self) -> ASGIApp | None:
        for event, handler in HANDLERS.items():
            subscription = Subscription(
                durable=f"converter-{event.entity}-{event.kind}",
                filters=(subjects.of_kind(event.entity, event.kind),),
                concurrency=AT_ONCE if event.entity == "conversion" else 32,
            )
            self._running.append(await self._bus.consume(subscription, partial(handler, self._converter)))
        return None

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def ready(self) -> str | None:
        return None

    async def close(self) -> None:
        for running in self._running:
            await running.stop()


def build(settings: Settings, bus: Bus) -> ConverterService:
    return ConverterService(settings, bus)
