"""A data server until it is told to end; meanwhile it removes what has expired."""

from __future__ import annotations

import fcntl
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa

from trainyard.data.errors import Conflict, Unavailable
from trainyard.data.server import DataServer, Serving

SWEEP = 60.0
"""Seconds between two looks for what has expired."""


def run(serving: Serving, ready: Callable[[int], None]) -> None:
    """Until SIGTERM or SIGINT. `ready` is told the port. Raises Unavailable where it cannot listen, and Conflict where
    another server has this store."""
    with alone(serving.store.root):
        _run(serving, ready)


def _run(serving: Serving, ready: Callable[[int], None]) -> None:
    try:
        server = DataServer(serving)
    except (pa.ArrowException, OSError) as error:
        raise Unavailable(f"it cannot listen on {serving.location}: {str(error).splitlines()[0]}") from error
    ended = threading.Event()

    def end(*_: object) -> None:
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    ready(server.port)
    while not ended.wait(SWEEP):
        with suppress(OSError):
            serving.store.collect()
    server.shutdown()


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """No other server works in this folder meanwhile; a process that is killed leaves nothing that would hold one up. Raises
    Conflict."""
    with (root / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Conflict(f"another data server works in {root}: give this one a folder of its own (--root)") from None
        yield


def key(root: Path) -> bytes:
    """What signs the tickets of this store: made once, readable by its owner alone."""
    file = root / "key"
    root.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        new = root / f".key.{secrets.token_hex(4)}"
        new.touch(mode=0o600)
        new.write_bytes(secrets.token_bytes(32))
        with suppress(FileExistsError):  # another server of this store was faster
            file.hardlink_to(new)
        new.unlink()
    return file.read_bytes()
