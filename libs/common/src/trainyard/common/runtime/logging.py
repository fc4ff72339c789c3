"""Structured logs: JSON lines for machines, colours on a terminal; job and trace ids on every line that has them.

The standard library's logging (uvicorn, nats-py) is sent the same way, so that a service has one log and one format.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from trainyard.common.bus.context import traceparent


def configure(service: str, log_format: str = "auto", level: str = "info") -> None:
    pretty = log_format == "pretty" or (log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        _service(service),
        _trace,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: list[Any] = (
        [structlog.dev.ConsoleRenderer()]
        if pretty
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # Every request is a metric already; a line each would drown what matters.
    logging.getLogger("uvicorn.access").disabled = True
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)


def _service(name: str) -> Any:
    def add(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
        event["service"] = name
        return event

    return add


def _trace(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    header = traceparent.get()
    if header and "trace_id" not in event:
        event["trace_id"] = header[3:35]
    return event
