"""`python -m trainyard.converter.serving --repository DIR`: serve a model repository on loopback, over HTTP and gRPC.

One event loop holds both front ends; models compute in threads. Arrow Flight, where it is asked for, has
threads of its own. `yard serve` starts it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from trainyard.common.errors import TrainyardError
from trainyard.common.runtime import logging
from trainyard.common.runtime.run import listen
from trainyard.common.runtime.settings import is_loopback
from trainyard.converter.serving import about, grpc_service
from trainyard.converter.serving.application import create
from trainyard.converter.serving.repository import Repository

_PR_SET_PDEATHSIG = 1
_GRACE = 5.0  # seconds for requests in hand


def main() -> None:
    parser = argparse.ArgumentParser(prog="yard serve", description="Serve a Triton model repository on this machine.")
    parser.add_argument("--repository", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1", help="a loopback address")
    parser.add_argument("--port", type=int, default=8000, help="for HTTP")
    parser.add_argument("--grpc-port", type=int, help="default: the one behind --port; 0: no gRPC")
    parser.add_argument("--flight-port", type=int, help="for Arrow Flight; default: none")
    parser.add_argument("--request-mib", type=int, default=about.REQUEST_BYTES // 2**20, help="largest request")
    parser.add_argument("--explicit", action="store_true", help="load models only when asked to")
    parser.add_argument("--with-parent", action="store_true", help="end when the process that started this one ends")
    options = parser.parse_args()
    if options.with_parent and sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not options.repository.is_dir():
        parser.error(f"there is no folder {options.repository}")
    if not is_loopback(options.host):
        parser.error(f"{options.host} can be reached from other machines, and this server asks for no credentials")
    if not 1 <= options.request_mib < 2048:
        parser.error(f"--request-mib {options.request_mib} is out of range: 1 to 2047, which gRPC takes at most")
    logging.configure("serving")
    try:
        asyncio.run(_serve(options))
    except TrainyardError as error:
        parser.error(str(error))


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    listener = listen(options.host, options.port)
    repository, limit = Repository(options.repository), options.request_mib * 2**20
    host = f"[{options.host}]" if ":" in options.host else options.host
    grpc_port = options.port + 1 if options.grpc_port is None else options.grpc_port
    grpc_server = grpc_service.create(repository, f"{host}:{grpc_port}", limit) if grpc_port else None
    if not options.explicit:
        await asyncio.to_thread(repository.load_all)
    server = _Server(
        uvicorn.Config(
            create(repository, limit), log_config=None, lifespan="off", access_log=False,
            timeout_graceful_shutdown=int(_GRACE),
        )
    )  # fmt: skip
    if grpc_server is not None:
        await grpc_server.start()
    flight_server = None
    if options.flight_port is not None:
        from trainyard.converter.serving import flight  # noqa: PLC0415 - Arrow takes its time, and most do without

        flight_server = flight.create(repository, f"grpc://{host}:{options.flight_port}")
    listener.listen()  # whoever reads the line below may connect at once
    http = asyncio.create_task(server.serve(sockets=[listener]))
    told = [f"serving {options.repository} at http://{host}:{options.port}"]
    told += [f"gRPC at {host}:{grpc_port}"] if grpc_port else []
    told += [f"Arrow Flight at {flight_server.location}"] if flight_server else []
    sys.stdout.write(", ".join(told) + "\n")
    sys.stdout.flush()
    await stop.wait()
    server.should_exit = True
    await http
    if flight_server is not None:
        await asyncio.to_thread(flight_server.shutdown)
    if grpc_server is not None:
        await grpc_server.stop(_GRACE)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals end both front ends, one behind the other."""
        yield


if __name__ == "__main__":
    main()
