"""Prometheus metrics that every service has, with conventional names and base units."""

from __future__ import annotations

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from prometheus_client.exposition import choose_encoder
from starlette.requests import Request
from starlette.responses import Response

EVENTS_APPENDED = Counter(
    "trainyard_bus_events_appended", "Events stored in the log by this service", ["entity", "kind"]
)
APPENDS_STALE = Counter("trainyard_bus_appends_stale", "Optimistic appends that lost and were decided again")
MESSAGES_HANDLED = Histogram(
    "trainyard_bus_handler_seconds",
    "Time a handler took, by how it ended",
    ["durable", "outcome"],
    buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600),
)
DEAD_LETTERS = Counter("trainyard_bus_dead_letters", "Messages given up, by consumer", ["durable"])
UNREADABLE = Counter("trainyard_bus_unreadable", "Messages that a follower could not read")
UP = Gauge("trainyard_service_ready", "1 while the service is ready for work", ["service"])


class PrometheusBusMetrics:
    """What the bus reports of itself (see `bus.metrics.BusMetrics`)."""

    def appended(self, entity: str, kind: str) -> None:
        EVENTS_APPENDED.labels(entity, kind).inc()

    def stale(self) -> None:
        APPENDS_STALE.inc()

    def handled(self, durable: str, outcome: str, seconds: float) -> None:
        MESSAGES_HANDLED.labels(durable, outcome).observe(seconds)

    def dead_letter(self, durable: str) -> None:
        DEAD_LETTERS.labels(durable).inc()

    def unreadable(self) -> None:
        UNREADABLE.inc()


async def endpoint(request: Request) -> Response:
    """`GET /metrics` in the text format or OpenMetrics, as the scraper asks."""
    encoder, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encoder(REGISTRY), media_type=content_type)
