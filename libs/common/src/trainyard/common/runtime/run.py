"""From `python -m trainyard.<service>` to a running service and back to silence.

Order matters: the port is taken first (a second copy stops here with a sentence), then the bus is joined, then the
service is built and runs beside its HTTP server. SIGTERM and SIGINT end it in the opposite order: no more HTTP, no more
messages, finish what is in hand, flush, leave. A service whose task fails ends the process with an error, so that
whoever supervises it starts it again: a half-dead service is worse than none.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, Protocol, TypeVar

import structlog
import uvicorn
import uvloop
from starlette.types import ASGIApp

from trainyard.common.bus.nats import NatsBus
from trainyard.common.bus.port import Bus
from trainyard.common.cancelling import cancelled
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.common.runtime import health, logging, metrics, tracing
from trainyard.common.runtime.settings import EXIT_CONFIGURATION, RuntimeSettings

log = structlog.get_logger()

EXIT_FAILURE = 1


class Service(Protocol):
    """What a service's `app.build` returns."""

    async def start(self) -> ASGIApp | None:
        """Open what it needs. Gives its own HTTP interface, or None."""
        ...

    async def run(self) -> None:
        """Work until cancelled."""
        ...

    async def close(self) -> None:
        """Finish what is in hand."""
        ...

    async def ready(self) -> str | None:
        """None, or a sentence that says what is missing."""
        ...


S = TypeVar("S")


def main(service: str, read_settings: Callable[[Mapping[str, str]], S], build: Callable[[S, Bus], Service]) -> NoReturn:
    """Never returns: exits with 0 after a signal, with 78 when the configuration is wrong, with 1 on a failure."""
    try:
        runtime = RuntimeSettings.from_env(service, os.environ)
        settings = read_settings(os.environ)
        logging.configure(service, runtime.log_format, runtime.log_level)
        tracing.configure(service, runtime.otlp_endpoint)
        listener = listen(runtime.host, runtime.port)
    except TrainyardError as error:
        sys.stderr.write(f"{service}: {error}\n")
        sys.exit(EXIT_CONFIGURATION)
    try:
        uvloop.run(_serve(runtime, listener, lambda bus: build(settings, bus)))
    except InvalidInput as error:  # what it is to work with is only looked at when it starts: a kubeconfig
        sys.stderr.write(f"{service}: {error}\n")
        sys.exit(EXIT_CONFIGURATION)
    except TrainyardError as error:
        log.error("stopped", error=str(error))
        sys.exit(EXIT_FAILURE)
    finally:
        tracing.shutdown()
    sys.exit(0)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, or a TrainyardError that says who could be in the way and what to do."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio switches Nagle's algorithm off for sockets that name it alone: else an answer of
    # two packets waits 40 ms for the other side's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise TrainyardError(
                f"port {port} on {host} is in use: stop the program that holds it (`yard down` if it is another yard) "
                "or choose another block of ports with TRAINYARD_BASE_PORT"
            ) from error
        raise TrainyardError(f"cannot listen on {host} port {port}: {error.strerror}") from error
    return listener


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the runtime's: the bus must outlive the last request."""
        yield


async def _serve(runtime: RuntimeSettings, listener: socket.socket, build: Callable[[Bus], Service]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    connecting = asyncio.create_task(
        NatsBus.connect(
            runtime.nats_url,
            source=f"/trainyard/{runtime.service}",
            user=runtime.nats_user,
            password=runtime.nats_password,
            metrics=metrics.PrometheusBusMetrics(),
        )
    )
    # nats-server is waited for half a minute, as long as a kubelet has patience: whoever waits must be able to leave.
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait({connecting, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not connecting.done():
        await cancelled(connecting)
        return
    await cancelled(stopped)
    bus = await connecting
    try:
        await _until_stopped(runtime, listener, bus, build(bus), stop)
    finally:
        await bus.close()


async def _until_stopped(
    runtime: RuntimeSettings, listener: socket.socket, bus: Bus, service: Service, stop: asyncio.Event
) -> None:
    async def bus_connected() -> str | None:
        return None if await bus.connected() else f"nats-server at {runtime.nats_url} does not answer"

    inner = await service.start()
    app = health.application(runtime.service, {"bus": bus_connected, "service": service.ready}, inner)
    server = _Server(
        uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5, access_log=False)
    )
    http = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    work = asyncio.create_task(service.run(), name="service")
    stopped = asyncio.create_task(stop.wait(), name="stop")
    # What a service holds for its whole life need not be looked at by every collection: 14 ms of each full one in the matrix.
    gc.freeze()
    log.info("started", port=runtime.port, nats=runtime.nats_url, state=str(runtime.state))
    done, _ = await asyncio.wait({http, work, stopped}, return_when=asyncio.FIRST_COMPLETED)
    log.info("stopping")
    server.should_exit = True
    await asyncio.gather(cancelled(work, stopped), http, return_exceptions=True)
    await service.close()
    for task in done - {stopped}:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("failed", task=task.get_name(), exc_info=error)
            raise TrainyardError(f"{task.get_name()} failed: {error}") from error
        raise TrainyardError(f"{task.get_name()} ended by itself")
