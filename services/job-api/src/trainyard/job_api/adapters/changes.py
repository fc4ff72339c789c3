"""Wakes the streams (SSE) whose job or conversion has moved, so that none of them polls.

A stream watches first and reads then: what is appended between its reading and its waiting is told to the watch and ends
the waiting at once.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from trainyard.common.bus.port import Batch


class BoardWatch:
    """Implements ports.Watch."""

    def __init__(self) -> None:
        self._newest = 0
        self._moved = asyncio.Event()

    def tell(self, seq: int) -> None:
        self._newest = max(self._newest, seq)
        self._moved.set()

    async def wait(self, seen: int, timeout: float) -> bool:
        try:
            async with asyncio.timeout(timeout):
                while self._newest <= seen:
                    self._moved.clear()
                    await self._moved.wait()
        except TimeoutError:
            return False
        return True


class ChangeBoard:
    """Implements ports.Changes. Remembers nothing of entities that nobody watches."""

    def __init__(self) -> None:
        self._watches: dict[str, set[BoardWatch]] = defaultdict(set)

    def tell(self, batch: Batch) -> None:
        for recorded in batch.events:
            for watch in self._watches.get(recorded.event.entity_id(), ()):
                watch.tell(recorded.seq)

    @contextmanager
    def watch(self, entity_id: str) -> Iterator[BoardWatch]:
        watch = BoardWatch()
        self._watches[entity_id].add(watch)
        try:
            yield watch
        finally:
            self._watches[entity_id].discard(watch)
            if not self._watches[entity_id]:
                del self._watches[entity_id]
