"""What the bus tells about itself. `runtime.metrics` makes Prometheus series of it; the default is silence."""

from __future__ import annotations

from typing import Protocol


class BusMetrics(Protocol):
    def appended(self, entity: str, kind: str) -> None: ...

    def stale(self) -> None: ...

    def handled(self, durable: str, outcome: str, seconds: float) -> None:
        """`outcome`: ack, nak or dead."""
        ...

    def dead_letter(self, durable: str) -> None: ...

    def unreadable(self) -> None: ...


class Silent:
    def appended(self, entity: str, kind: str) -> None:
        pass

    def stale(self) -> None:
        pass

    def handled(self, durable: str, outcome: str, seconds: float) -> None:
        pass

    def dead_letter(self, durable: str) -> None:
        pass

    def unreadable(self) -> None:
        pass
