"""What happened, in order: the events of one kind, kept for those who watch from a revision in the past."""

from __future__ import annotations

import asyncio
import json
from bisect import bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from trainyard.cluster_double.core.objects import Json


@dataclass(frozen=True, eq=False)
class Event:
    """`before` is what the object was, so that a selector can tell who comes into sight and who leaves it."""

    revision: int
    kind: str
    """ADDED, MODIFIED, DELETED"""
    obj: Json
    before: Json | None = None

    @cached_property
    def encoded(self) -> bytes:
        """The object as JSON, written once however many watch."""
        return json.dumps(self.obj, separators=(",", ":")).encode()


Seen = Callable[[Json], bool]
"""Whether a watcher's selectors take an object."""


def as_seen(event: Event, sees: Seen) -> str | None:
    """The event's kind for a watcher who sees only some objects; None when it does not concern it."""
    now = sees(event.obj)
    if event.kind != "MODIFIED" or event.before is None:
        return event.kind if now else None
    was = sees(event.before)
    if now:
        return "MODIFIED" if was else "ADDED"
    return "DELETED" if was else None


class Watcher:
    """A queue that the store fills and a reader empties. Everything happens in the store's event loop."""

    def __init__(self) -> None:
        self._queue: deque[Event] = deque()
        self._more = asyncio.Event()

    def put(self, event: Event) -> None:
        self._queue.append(event)
        self._more.set()

    async def batch(self, timeout: float | None = None) -> list[Event]:
        """What has come since the last call; waits for the first. An empty list after `timeout` seconds."""
        if not self._queue:
            self._more.clear()
            try:
                await asyncio.wait_for(self._more.wait(), timeout)
            except TimeoutError:
                return []
        found = list(self._queue)
        self._queue.clear()
        return found


class History:
    """The last events of one kind. Older ones are forgotten: a watch from before them is answered with 410."""

    def __init__(self, limit: int, since: int) -> None:
        self._limit = limit
        self._events: list[Event] = []
        self.oldest = since
        """The revision from which on nothing is missing."""

    def append(self, event: Event) -> None:
        self._events.append(event)
        if len(self._events) > self._limit * 5 // 4:
            self.forget(self._events[-self._limit - 1].revision)

    def forget(self, revision: int) -> None:
        """Everything up to and with `revision`."""
        self._events = self._events[bisect_right(self._events, revision, key=_revision) :]
        self.oldest = max(self.oldest, revision)

    def after(self, revision: int) -> list[Event]:
        return self._events[bisect_right(self._events, revision, key=_revision) :]


def _revision(event: Event) -> int:
    return event.revision
