"""The trace that the current task works for. The bus stamps it on what it appends and sets it around each handler."""

from __future__ import annotations

from contextvars import ContextVar

traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)
"""W3C Trace Context: `00-<32 hex trace id>-<16 hex parent id>-<2 hex flags>`."""
