"""How long a server may be away before a call gives up."""

from __future__ import annotations

import time
from collections.abc import Callable

from trainyard.data.errors import Unavailable

_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)  # seconds between tries; the last one repeats


class Patience:
    """Waits between tries until the server was away for too long; then, or for another fault, raises it.

    It is away from the first failure on: what the caller does between two batches is no time of the server's."""

    def __init__(
        self, seconds: float, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._seconds = seconds
        self._now = now
        self._sleep = sleep
        self.succeeded()

    def succeeded(self) -> None:
        self._until: float | None = None
        self._tries = 0

    def failed(self, fault: Exception) -> None:
        if self._until is None:
            self._until = self._now() + self._seconds
        if not isinstance(fault, Unavailable) or self._now() >= self._until:
            raise fault
        self._sleep(_PAUSES[min(self._tries, len(_PAUSES) - 1)])
        self._tries += 1
