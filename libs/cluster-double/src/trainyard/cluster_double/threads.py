"""An event loop in a thread of its own, for tests that are not asynchronous themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

Serve = Callable[[Callable[[], None], asyncio.Event], Coroutine[Any, Any, None]]
"""Does its work until the event is set; calls the function when it is ready to be used."""


class LoopThread:
    def __init__(self, name: str, serve: Serve) -> None:
        self._serve = serve
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._begun = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._fault: BaseException | None = None

    def start(self) -> None:
        """Returns when it is ready. Raises what kept it from becoming so: OSError, ValueError."""
        self._thread.start()
        self._begun.wait()
        if self._fault is not None:
            raise self._fault

    def stop(self) -> None:
        if self._loop is not None and self._stop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def soon(self, act: Callable[[], None]) -> None:
        """Has something done in the loop, without waiting for it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(act)

    def call(self, act: Callable[[], Any]) -> Any:
        """Does something in the loop, and answers with what it gives."""

        async def acting() -> Any:
            return act()

        return self.wait(acting())

    def wait(self, work: Coroutine[Any, Any, Any], seconds: float = 60.0) -> Any:
        if self._loop is None:
            work.close()
            raise RuntimeError(f"{self._thread.name} was not started")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except (OSError, ValueError) as fault:
            self._fault = fault
        finally:
            self._begun.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        await self._serve(self._begun.set, self._stop)
