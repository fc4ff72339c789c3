"""Time that passes only when a test says so."""

from __future__ import annotations

from datetime import UTC, datetime


class ManualClock:
    """Implements clock.Clock."""

    def __init__(self, at: float = 1000.0) -> None:
        self.at = at
        """Seconds, of both clocks."""

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC)

    def monotonic(self) -> float:
        return self.at
