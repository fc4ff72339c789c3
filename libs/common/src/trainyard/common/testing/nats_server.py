"""A real nats-server for tests: on a free loopback port, with a store that survives `kill`."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from trainyard.common.loopback import free_port


class NatsServer:
    """Start with `start`; `kill` is SIGKILL; `start` again on the same port and store."""

    def __init__(self, store: Path, port: int | None = None, extra: tuple[str, ...] = ()) -> None:
        self._extra = extra
        self.store = store
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.store.mkdir(parents=True, exist_ok=True)
        binary = Path(sys.executable).with_name("nats-server")
        with (self.store / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [binary, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.store, *self._extra],
                stdout=log,
                stderr=log,
            )
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(f"nats-server did not start: {(self.store / 'server.log').read_text()[-2000:]}")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(timeout=20)
            self._process = None
