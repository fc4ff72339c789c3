"""Keeps nats-server and the services alive, and ends them in order.

nats-server comes first and goes last. A child that dies is started again with back-off; the others are not touched,
they reconnect. Exit code 78 (wrong configuration) is not repeated: everything is stopped and the child's own sentence
shown. Children stand in sessions of their own, so Ctrl-C reaches the supervisor alone, which then stops them; the
processes of jobs are nobody's children here and live on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainyard.client.yard import preflight
from trainyard.client.yard.layout import Child, Layout
from trainyard.client.yard.liveness import until_frozen
from trainyard.client.yard.record import Record, end, hold
from trainyard.common.errors import TrainyardError
from trainyard.common.runtime.settings import EXIT_CONFIGURATION

GRACE = 15.0  # seconds a child gets after SIGTERM
STABLE = 30.0  # seconds after which a child's back-off starts anew
BACKOFF = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # seconds before restart 1, 2, …
START_TIMEOUT = 90.0
LOG_LIMIT = 20 * 2**20  # bytes after which a child's log is turned at its next start

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
Say = Callable[[str], None]


class Supervisor:
    def __init__(self, layout: Layout, say: Say) -> None:
        self._layout = layout
        self._say = say
        self._record = Record(layout.record)
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._fatal: asyncio.Future[str] | None = None

    async def run(self, stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """Until `stop` is set. Raises TrainyardError when the yard cannot come up or a child is misconfigured."""
        preflight.state_folder(self._layout.state)
        with hold(self._layout.lock):
            end(self._record.living(), GRACE)  # what a killed supervisor left behind
            preflight.check(self._layout)
            self._prepare()
            self._fatal = asyncio.get_running_loop().create_future()
            tasks: list[asyncio.Task[None]] = []
            try:
                tasks.append(asyncio.create_task(self._keep(self._layout.nats())))
                await self._until_ready(self._layout.nats(), stop)
                services = (*self._layout.services(), self._layout.data())
                tasks += [asyncio.create_task(self._keep(child)) for child in services]
                await asyncio.gather(*(self._until_ready(child, stop) for child in services))
                if not stop.is_set():
                    ready()
                await self._stopped_or_fatal(stop)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._end_all()
                self._record.remove()

    def _prepare(self) -> None:
        self._layout.logs.mkdir(parents=True, exist_ok=True)
        config = self._layout.nats_config
        config.parent.mkdir(parents=True, exist_ok=True)
        config.touch(mode=0o600)
        config.write_text(self._layout.nats_configuration())

    async def _keep(self, child: Child) -> None:
        failures = 0
        while True:
            began = time.monotonic()
            process = await self._spawn(child)
            watch = asyncio.create_task(self._watch(child, process))
            try:
                code = await process.wait()
            finally:
                watch.cancel()
            self._running.pop(child.name, None)
            if code == EXIT_CONFIGURATION:
                self._give_up(f"{child.name} cannot start: {_last_line(self._log(child))}")
                return
            failures = 0 if time.monotonic() - began > STABLE else failures + 1
            delay = BACKOFF[min(failures, len(BACKOFF)) - 1] if failures else BACKOFF[0]
            self._say(f"{child.name} ended with {_how(code)}; starting it again in {delay:g} s")
            await asyncio.sleep(delay)

    async def _watch(self, child: Child, process: asyncio.subprocess.Process) -> None:
        """A child that lives and answers nobody is ended; what it held is found again by the next one."""
        if child.alive is None:
            return
        url = child.alive
        await until_frozen(lambda: asyncio.to_thread(_answers, url))
        self._say(f"{child.name} lives but does not answer; ending it")
        with contextlib.suppress(ProcessLookupError):
            process.kill()

    async def _spawn(self, child: Child) -> asyncio.subprocess.Process:
        path = self._log(child)
        if path.exists() and path.stat().st_size > LOG_LIMIT:
            path.replace(path.with_suffix(".log.1"))
        with path.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *child.command,
                env=self._layout.environment(os.environ),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running[child.name] = process
        pids = {name: running.pid for name, running in self._running.items()}
        self._record.write({"yard": os.getpid(), **pids})
        return process

    async def _until_ready(self, child: Child, stop: asyncio.Event) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        while not stop.is_set():
            if self._fatal is not None and self._fatal.done():
                raise TrainyardError(self._fatal.result())
            if await is_ready(child):
                return
            if time.monotonic() > deadline:
                raise TrainyardError(f"{child.name} is not ready after {START_TIMEOUT:.0f} s: see {self._log(child)}")
            await asyncio.sleep(0.1)

    async def _stopped_or_fatal(self, stop: asyncio.Event) -> None:
        assert self._fatal is not None  # noqa: S101 - set by run
        waiting = asyncio.create_task(stop.wait())
        both: set[asyncio.Future[Any]] = {waiting, self._fatal}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self._fatal.done():
            raise TrainyardError(self._fatal.result())

    async def _end_all(self) -> None:
        nats = self._running.pop("nats-server", None)
        await asyncio.gather(*(_end(process) for process in self._running.values()))
        if nats is not None:
            await _end(nats)

    def _give_up(self, why: str) -> None:
        if self._fatal is not None and not self._fatal.done():
            self._fatal.set_result(why)

    def _log(self, child: Child) -> Path:
        return self._layout.logs / f"{child.name}.log"


async def is_ready(child: Child) -> bool:
    if child.health is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", child.port)
        except OSError:
            return False
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return True
    return await asyncio.to_thread(_answers, child.health)


def _answers(url: str) -> bool:
    # The standard library's client: making one of httpx's costs more than the whole question, many times a second.
    try:
        with _direct.open(url, timeout=2):
            return True
    except OSError:  # URLError and its HTTPError are among them
        return False


async def _end(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(GRACE):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else f"see {log}"
