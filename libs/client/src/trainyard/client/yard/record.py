"""Who runs: process ids with start times, so that a number that was given to another process is never killed.

The supervisor holds a lock for as long as it lives; the lock, not the record, says whether a yard is up. The record
finds children that outlived a supervisor that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psutil

from trainyard.common.errors import TrainyardError


@contextmanager
def hold(lock: Path) -> Iterator[None]:
    """Held until the block ends or the process dies. Raises TrainyardError when another process holds it."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        if not _take(file):
            raise TrainyardError("a yard runs already with this state folder: `yard down` stops it")
        yield


def is_held(lock: Path) -> bool:
    """Takes it for a moment, shared: two that only ask do not take each other for a yard."""
    if not lock.exists():
        return False
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _take(file: IO[str]) -> bool:
    """Somebody may be asking (see `is_held`), so a refusal is believed only when it lasts."""
    for _ in range(20):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


class Record:
    """`yard.json`: name → (pid, start time)."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, pids: dict[str, int]) -> None:
        entries = {name: {"pid": pid, "started": _started(pid)} for name, pid in pids.items()}
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text(json.dumps(entries, indent=1))
        temporary.replace(self._path)

    def living(self) -> dict[str, psutil.Process]:
        """The recorded processes that still are the ones that were recorded."""
        try:
            entries = json.loads(self._path.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        found = {}
        for name, entry in entries.items():
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(entry["pid"])
                if abs(process.create_time() - entry["started"]) < 1 and process.status() != psutil.STATUS_ZOMBIE:
                    found[name] = process
        return found

    def remove(self) -> None:
        self._path.unlink(missing_ok=True)


def end(processes: dict[str, psutil.Process], grace: float) -> None:
    """SIGTERM, wait, SIGKILL."""
    for process in processes.values():
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(list(processes.values()), timeout=grace)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=5)


def _started(pid: int) -> float:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return time.time() if pid == os.getpid() else 0.0
