"""How long a server may be away before a call gives up."""

from __future__ import annotations

import time

from trainyard.data.errors import Unavailable

_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)  # seconds between tries; the last one repeats


class Patience:
    """Waits between tries until the server was away for too long; then, or for another fault, raises it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.succeeded()

    def succeeded(self) -> None:
        self._until = time.monotonic() + self._seconds
        self._tries = 0

    def failed(self, fault: Exception) -> None:
        if not isinstance(fault, Unavailable) or time.monotonic() >= self._until:
            raise fault
        time.sleep(_PAUSES[min(self._tries, len(_PAUSES) - 1)])
        self._tries += 1
