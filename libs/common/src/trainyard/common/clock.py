"""Time as a port, so that no unit test sleeps."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, in UTC and aware."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def rfc3339(moment: datetime) -> str:
    """`2026-12-01T10:00:00.123456Z`: what CloudEvents and logs carry; sorts as text. Source: RFC 3339."""
    # Not strftime, which takes ten times as long; this stands in the way of every append.
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
