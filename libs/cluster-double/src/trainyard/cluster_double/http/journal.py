"""Every request that the double has answered, for tests that assert on what a client sends."""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    at: float
    """Unix seconds."""
    method: str
    path: str
    query: str
    code: int
    """0 where the connection was cut."""
    user_agent: str = ""
    content_type: str = ""

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}{'?' if self.query else ''}{self.query}"


class Journal:
    """The last requests, oldest first."""

    def __init__(self, limit: int = 100_000) -> None:
        self._seen: deque[Seen] = deque(maxlen=limit)
        self._lock = threading.Lock()

    def add(self, seen: Seen) -> None:
        with self._lock:
            self._seen.append(seen)

    def all(self) -> list[Seen]:
        with self._lock:
            return list(self._seen)

    def matching(self, pattern: str) -> list[Seen]:
        """Those whose `METHOD /path?query` matches."""
        found = re.compile(pattern)
        return [seen for seen in self.all() if found.search(seen.line)]

    def clear(self) -> None:
        with self._lock:
            self._seen.clear()
