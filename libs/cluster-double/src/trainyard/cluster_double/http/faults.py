"""What a test can make the server do wrong: refuse, delay, hang up, go silent, go away, forget.

Called from the test's thread while the server runs in its own; a lock keeps the plans.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Plan:
    """One kind of trouble for the next `count` requests whose `METHOD /path?query` matches."""

    count: int
    pattern: re.Pattern[str]
    code: int = 0
    """The status to answer with; 0 for another trouble."""
    retry_after: int | None = None
    delay: float = 0.0
    drop: bool = False


@dataclass(slots=True)
class Faults:
    _plans: list[Plan] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _away_until: float = 0.0
    _frozen: bool = False
    on_cut: Callable[[], None] = lambda: None
    """Hangs up on all who watch; set by the server."""
    on_forget: Callable[[], None] = lambda: None
    """Drops the history; set by the server."""

    def answer(self, code: int, count: int = 1, *, retry_after: int | None = None, matching: str = "") -> None:
        """The next requests are refused: 429 (with Retry-After), 500, 503, …"""
        self._add(Plan(count, re.compile(matching), code=code, retry_after=retry_after))

    def drop(self, count: int = 1, *, matching: str = "") -> None:
        """The connection of the next requests is cut without an answer."""
        self._add(Plan(count, re.compile(matching), drop=True))

    def slow(self, seconds: float, count: int = 1, *, matching: str = "") -> None:
        self._add(Plan(count, re.compile(matching), delay=seconds))

    def outage(self, seconds: float) -> None:
        """Everybody is cut off, and every connection is cut for a while."""
        self._away_until = time.monotonic() + seconds
        self.on_cut()

    def cut_watches(self) -> None:
        """Ends every watch in the middle, as a restarting server does."""
        self.on_cut()

    def freeze_watches(self) -> None:
        """Watches stay open and say nothing any more, as behind a broken network (half-open)."""
        self._frozen = True

    def thaw_watches(self) -> None:
        self._frozen = False

    def expire_history(self) -> None:
        """All revisions before now are forgotten: watches from them and pages of them get 410."""
        self.on_forget()

    def clear(self) -> None:
        with self._lock:
            self._plans.clear()
        self._away_until, self._frozen = 0.0, False

    @property
    def away(self) -> bool:
        return time.monotonic() < self._away_until

    @property
    def frozen(self) -> bool:
        return self._frozen

    def next(self, request: str) -> Plan | None:
        """The trouble for this request, if any is planned; counts it."""
        with self._lock:
            for plan in self._plans:
                if plan.pattern.search(request):
                    plan.count -= 1
                    if plan.count <= 0:
                        self._plans.remove(plan)
                    return plan
        return None

    def _add(self, plan: Plan) -> None:
        with self._lock:
            self._plans.append(plan)
