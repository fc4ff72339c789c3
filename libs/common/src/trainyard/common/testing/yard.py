"""A whole yard for tests and benchmarks: real processes, a state folder and a block of ports of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil

from trainyard.common.runtime.settings import SERVICES, data_port


class YardProcess:
    """`start`, then `url`; `kill(name)` is SIGKILL to a service or to nats-server, which the yard starts again."""

    def __init__(self, state: Path, **env: str) -> None:
        self.state = state
        self.base_port = free_block(len(SERVICES) + 2)
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TRAINYARD_", "NATS_"))},
            "TRAINYARD_STATE": str(state),
            "TRAINYARD_BASE_PORT": str(self.base_port),
            **env,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.base_port}"

    @property
    def nats_url(self) -> str:
        return f"nats://127.0.0.1:{self.base_port + len(SERVICES)}"

    @property
    def data(self) -> str:
        return f"grpc://127.0.0.1:{data_port(self.base_port)}"

    def port(self, service: str) -> int:
        return self.base_port + SERVICES.index(service)

    def start(self) -> None:
        done = self.yard("up", "--detach", timeout=150)
        assert done.returncode == 0, done.stdout + done.stderr + self.logs()  # noqa: S101 - test support

    def stop(self) -> None:
        self.yard("down", timeout=60)
        self.end_jobs()

    def yard(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """The command itself, as a person would run it."""
        return subprocess.run(
            [sys.executable, "-m", "trainyard.client", *arguments],
            env=self.env, capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def pid(self, name: str) -> int:
        return int(json.loads((self.state / "yard.json").read_text())[name]["pid"])

    def kill(self, name: str) -> None:
        """SIGKILL, and wait until the yard has started another."""
        before = self.pid(name)
        os.kill(before, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.pid(name) != before and psutil.pid_exists(self.pid(name)):
                return
            time.sleep(0.05)
        raise AssertionError(f"{name} was not started again: {self.logs()}")

    def end_jobs(self) -> None:
        """Whatever a failed test left running in this state folder."""
        for process in psutil.process_iter():
            try:
                if process.pid != os.getpid() and f"{self.state}/" in " ".join((*process.cmdline(), "")):
                    process.kill()
            except psutil.Error:
                continue

    def logs(self) -> str:
        return "\n".join(
            f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}"
            for file in (self.state / "run").glob("*.log")
        )


def free_block(size: int) -> int:
    """The first of `size` consecutive TCP ports that nobody holds at this moment."""
    for base in range(9_000 + os.getpid() % 100 * 100, 19_900, 50):  # below what ranks are given
        try:
            for port in range(base, base + size):
                with socket.socket() as probe:
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port))
            return base
        except OSError:
            continue
    raise AssertionError("no free block of ports")
