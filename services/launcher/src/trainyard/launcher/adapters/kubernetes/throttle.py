"""How fast the API server is asked for changes: evenly, and not at all for as long as it wants to be left alone.

A thousand jobs at once are some thousand writes. An API server that is flooded answers 429 to everybody (priority and
fairness), also to those who were not the flood; so what is allowed is a rate with a burst, and whoever is told to come back
later stops the others too. Reads that keep the cache true, and leases, do not wait here.
"""

from __future__ import annotations

import asyncio

from trainyard.common.clock import Clock


class Throttle:
    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        """`rate`: requests a second in the long run; `burst`: those that may go at once after a rest."""
        self._clock = clock
        self._interval = 1.0 / rate
        self._rest = burst * self._interval
        self._next = float("-inf")
        """Monotonic seconds at which the next request is on time."""

    async def turn(self) -> None:
        """Waits for its place."""
        seconds = self.place()
        if seconds > 0:
            await asyncio.sleep(seconds)

    def place(self) -> float:
        """Takes the next place; seconds until it comes."""
        now = self._clock.monotonic()
        self._next = max(self._next, now - self._rest) + self._interval
        return self._next - now

    def pause(self, seconds: float) -> None:
        """Nobody goes before so many seconds have passed."""
        self._next = max(self._next, self._clock.monotonic() + seconds)
