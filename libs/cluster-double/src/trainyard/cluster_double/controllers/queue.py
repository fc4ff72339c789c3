"""One queue for all controllers: what happened becomes keys to look at, each key at most once, one after another.

As in Kubernetes a controller is told *that* something about a key changed, never what; it looks at the present state and
does what is missing. Everything runs in the server's event loop, and the loop is given back every few milliseconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from trainyard.cluster_double.core.errors import ApiError
from trainyard.cluster_double.store.events import Event

Key = tuple[str, str]
"""(namespace, name)"""
_LOG = logging.getLogger("trainyard.cluster_double")
_SLICE = 0.01  # seconds of work before others get the loop
_RETRY = 0.2
_REST = 4  # times as long as looking at a key took, before it is looked at again where a controller settles


@dataclass(frozen=True, slots=True)
class Controller:
    name: str
    keys: Callable[[str, Event], Iterable[Key]]
    """Which keys an event concerns; asked of every event of every kind."""
    reconcile: Callable[[Key], float | None]
    """Seconds after which to look again; None when only an event can change anything."""
    settle: float = 0.0
    """Seconds to wait for more events before looking."""


class Queue:
    def __init__(self, controllers: Iterable[Controller]) -> None:
        self._controllers = tuple(controllers)
        self._waiting: dict[tuple[int, Key], None] = {}
        self._timers: dict[tuple[int, Key], asyncio.TimerHandle] = {}
        self._costly: dict[tuple[int, Key], float] = {}
        """Seconds that the last look took, of keys that take long: a job of thousands of pods."""
        self._more = asyncio.Event()

    def tell(self, storage: str, event: Event) -> None:
        for number, controller in enumerate(self._controllers):
            for key in controller.keys(storage, event):
                if controller.settle:
                    pause = max(controller.settle, _REST * self._costly.get((number, key), 0.0))
                    self._later((number, key), pause, keep=True)
                else:
                    self._add((number, key))

    async def run(self) -> None:
        began = time.monotonic()
        while True:
            if not self._waiting:
                self._more.clear()
                await self._more.wait()
                began = time.monotonic()
            number, key = next(iter(self._waiting))
            del self._waiting[number, key]
            self._look(number, key)
            if time.monotonic() - began > _SLICE:
                await asyncio.sleep(0)
                began = time.monotonic()

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()

    def _look(self, number: int, key: Key) -> None:
        controller, began = self._controllers[number], time.monotonic()
        try:
            again = controller.reconcile(key)
        except ApiError as fault:
            # Somebody was faster, or the namespace is going: look at what is there now.
            _LOG.debug("%s %s: %s", controller.name, key, fault.message)
            again = _RETRY
        except Exception:  # noqa: BLE001
            # One broken object must not stop the others' controllers; the trace says whose fault it was.
            _LOG.exception("%s failed at %s", controller.name, key)
            again = None
        took = time.monotonic() - began
        if _REST * took > controller.settle:
            self._costly[number, key] = took
        else:
            self._costly.pop((number, key), None)
        if again is not None:
            self._later((number, key), again)

    def _add(self, item: tuple[int, Key]) -> None:
        self._waiting[item] = None
        self._more.set()

    def _later(self, item: tuple[int, Key], seconds: float, *, keep: bool = False) -> None:
        present = self._timers.get(item)
        if present is not None:
            if keep:
                return
            present.cancel()

        def fire() -> None:
            self._timers.pop(item, None)
            self._add(item)

        self._timers[item] = asyncio.get_running_loop().call_later(max(0.0, seconds), fire)
