"""The only wiring of the converter."""

from __future__ import annotations

from functools import partial

from trainyard.common.bus.port import Bus, Subscription
from trainyard.common.clock import SystemClock
from trainyard.common.contract import subjects
from trainyard.common.contract.event import Event
from trainyard.common.runtime.consuming import ConsumingService
from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.handlers import HANDLERS, Converter
from trainyard.converter.preparation import Tools
from trainyard.converter.settings import Settings

AT_ONCE = 2
"""Conversions at a time: each loads a framework and a model."""


def build(settings: Settings, bus: Bus) -> ConsumingService:
    interpreters = Interpreters(settings.catalogue, settings.converters, settings.state / "images")
    tools = Tools(
        exporter=WorkerExporter(interpreters.python),
        serving=TritonServingCheck(settings.triton),
        targets=WorkerTargetWriter(interpreters.environment, trtexec=settings.trtexec),
        clock=SystemClock(),
        state=settings.state,
        claims=settings.claims,
    )
    converter = Converter(bus, tools)
    return ConsumingService(
        bus, [(_subscription(event), partial(handler, converter)) for event, handler in HANDLERS.items()]
    )


def _subscription(event: type[Event]) -> Subscription:
    return Subscription(
        durable=f"converter-{event.entity}-{event.kind}",
        filters=(subjects.of_kind(event.entity, event.kind),),
        concurrency=AT_ONCE if event.entity == "conversion" else 32,
    )
