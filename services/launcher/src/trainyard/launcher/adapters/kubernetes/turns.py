"""Room for so many at once, by turns: who has had room for a while makes some for those that wait.

Logs of pods are followed for as long as the pods run. Without turns those that came first would keep all the room, and of the
others nothing would be known until they have ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Turn:
    limit: asyncio.Timeout | None = None
    timer: asyncio.TimerHandle | None = None
    leaving: bool = False
    """Told to leave."""


class Turns:
    def __init__(self, room: int, seconds: float) -> None:
        """`seconds`: what a turn lasts at least; it lasts for ever where nobody waits."""
        self._room = asyncio.Semaphore(room)
        self._seconds = seconds
        self._waiting = 0
        self._leaving = 0
        """Those whose turn is over and who have not left yet."""

    @asynccontextmanager
    async def turn(self, unless: asyncio.Event) -> AsyncIterator[bool]:
        """Gives whether there is room: False when `unless` was set before. The body is left when the turn is over."""
        if not await self._acquire(unless):
            yield False
            return
        turn = _Turn()
        try:
            async with asyncio.timeout(None) as turn.limit:
                self._later(turn)
                yield True
        except TimeoutError:
            if not turn.leaving:
                raise
        finally:
            if turn.timer is not None:
                turn.timer.cancel()
            self._leaving -= turn.leaving
            self._room.release()

    def _later(self, turn: _Turn) -> None:
        turn.timer = asyncio.get_running_loop().call_later(self._seconds, self._look, turn)

    def _look(self, turn: _Turn) -> None:
        """A turn has lasted: it is over if somebody waits for whom nobody leaves yet."""
        if self._waiting > self._leaving and turn.limit is not None:
            turn.leaving = True
            self._leaving += 1
            turn.limit.reschedule(asyncio.get_running_loop().time())
        else:
            self._later(turn)

    async def _acquire(self, unless: asyncio.Event) -> bool:
        if not self._room.locked():
            await self._room.acquire()
            return True
        self._waiting += 1
        room, event = asyncio.ensure_future(self._room.acquire()), asyncio.ensure_future(unless.wait())
        try:
            await asyncio.wait({room, event}, return_when=asyncio.FIRST_COMPLETED)
            return room.done()
        except asyncio.CancelledError:
            if room.done() and not room.cancelled():
                self._room.release()
            raise
        finally:
            self._waiting -= 1
            room.cancel()
            event.cancel()
