"""The only wiring of the matrix."""

from __future__ import annotations

from functools import partial

from trainyard.common.bus.port import Bus, Subscription
from trainyard.common.contract import subjects
from trainyard.common.runtime.consuming import ConsumingService
from trainyard.matrix import commands
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.handlers import HANDLERS, Matrix
from trainyard.matrix.settings import Settings


def build(settings: Settings, bus: Bus) -> ConsumingService:
    matrix = Matrix(bus, CatalogueImages(settings.catalogue), shipped())
    return ConsumingService(
        bus,
        [
            (
                Subscription(f"matrix-{event.kind}", (subjects.of_kind(event.entity, event.kind),), concurrency=64),
                partial(handler, matrix),
            )
            for event, handler in HANDLERS.items()
        ],
        commands.bound(matrix),
    )
