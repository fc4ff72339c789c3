"""A data server as a process of its own, which tests kill: `python -m trainyard.data.testing.process ROOT PORT [QUOTA]`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.data.client import Client
from trainyard.data.server import DataServer, Serving
from trainyard.data.store import Store
from trainyard.data.testing import KEY, who

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Process:
    root: Path
    wrapper: Sequence[str] = ()
    """What the interpreter is started by."""
    port: int = 0
    _running: subprocess.Popen[str] | None = field(default=None, init=False)

    def start(self) -> Process:
        """Answers once it is up; started again it has the port that it had."""
        command = [*self.wrapper, sys.executable, "-m", __name__, str(self.root), str(self.port)]
        self._running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._running.stdout is not None  # noqa: S101
        line = self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"the data server ended with {self._running.wait()}")
        self.port = int(line)
        return self

    def kill(self) -> None:
        if self._running is not None:
            self._running.send_signal(signal.SIGKILL)
            self._running.wait()
            self._running.stdout.close()  # type: ignore[union-attr]
            self._running = None

    @property
    def alive(self) -> bool:
        return self._running is not None and self._running.poll() is None

    @property
    def memory(self) -> int:
        """Bytes that lie in memory and belong to no file."""
        assert self._running is not None  # noqa: S101
        resident, shared = Path(f"/proc/{self._running.pid}/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * PAGE

    def client(self, *, same_host: bool = False, patience: float = 20.0) -> Client:
        return Client(f"grpc://127.0.0.1:{self.port}", "mine", same_host=same_host, patience=patience)


def main(root: str, port: str) -> None:
    server = DataServer(Serving(Store(Path(root)), KEY, who, f"grpc://127.0.0.1:{port}"))
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
