"""Wakes the streams (SSE) whose job or conversion has moved, so that none of them polls."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from trainyard.common.bus.port import Batch


class ChangeBoard:
    """Implements ports.Changes. Remembers nothing of entities that nobody waits for."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[tuple[int, asyncio.Future[None]]]] = defaultdict(list)
        self.last = 0
        """The newest sequence that was told."""

    def tell(self, batch: Batch) -> None:
        for recorded in batch.events:
            for seen, future in self._waiting.get(recorded.event.entity_id(), ()):
                if recorded.seq > seen and not future.done():
                    future.set_result(None)
        self.last = batch.last

    async def wait(self, entity_id: str, seen: int, timeout: float) -> bool:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (seen, future)
        self._waiting[entity_id].append(entry)
        try:
            async with asyncio.timeout(timeout):
                await future
            return True
        except TimeoutError:
            return False
        finally:
            self._waiting[entity_id].remove(entry)
            if not self._waiting[entity_id]:
                del self._waiting[entity_id]
