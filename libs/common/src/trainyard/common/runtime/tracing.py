"""W3C trace context, and OpenTelemetry export when an endpoint is configured.

A span sets the `traceparent` of the current task, which the bus stamps on every event: so one trace runs from the HTTP
request through every service. Without an endpoint only the ids are made, which costs a few microseconds.
Source: W3C Trace Context (Recommendation, 2021).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from trainyard.common.bus.context import traceparent

log = structlog.get_logger()

_PATTERN = re.compile(r"^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$")


class _Export:
    """What the process exports with; set once by `configure`, before the first span."""

    tracer: Any = None
    provider: Any = None


def valid(header: str | None) -> str | None:
    """The header if it is a traceparent, else None: a broken one starts a new trace, as the standard asks."""
    return header if header and _PATTERN.match(header) else None


def configure(service: str, endpoint: str | None) -> None:
    """Export spans over OTLP/HTTP to `endpoint`. Without one, nothing is imported."""
    if not endpoint:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        log.warning("traces are not exported: install trainyard-common[otel]", endpoint=endpoint)
        return
    provider = TracerProvider(resource=Resource.create({"service.name": f"trainyard-{service}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces")))
    _Export.provider = provider
    _Export.tracer = provider.get_tracer("trainyard")


def shutdown() -> None:
    """Send what is still held. Called once, at the end of a service."""
    if _Export.provider is not None:
        _Export.provider.shutdown()


@contextmanager
def span(name: str, parent: str | None = None, **attributes: str) -> Iterator[str]:
    """A piece of work; yields its traceparent and makes it the current one. `parent`: absent, the current one."""
    above = valid(parent) or traceparent.get()
    if _Export.tracer is None:
        header = f"00-{above[3:35] if above else secrets.token_hex(16)}-{secrets.token_hex(8)}-01"
        token = traceparent.set(header)
        try:
            yield header
        finally:
            traceparent.reset(token)
        return
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

    propagator = TraceContextTextMapPropagator()
    context = propagator.extract({"traceparent": above}) if above else None
    with _Export.tracer.start_as_current_span(name, context=context, attributes=attributes):
        carrier: dict[str, str] = {}
        propagator.inject(carrier)
        token = traceparent.set(carrier["traceparent"])
        try:
            yield carrier["traceparent"]
        finally:
            traceparent.reset(token)
