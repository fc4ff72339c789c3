"""The files of a rank: what is to run, who runs, how it ended. Written whole or not at all.

<rank folder>/plan.json    what the launcher wants (see launcher.core.plan.RankPlan)
              lock         held by the supervisor while it lives: the only proof of life that is used
              pid.json     the supervisor and the rank's main process
              stop.json    the launcher's wish to end it: {"grace": seconds, "why": text}; also before it began
              exit.json    how it ended; written once, last
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

PLAN, LOCK, PID, STOP, EXIT, REPORT = "plan.json", "lock", "pid.json", "stop.json", "exit.json", "report.jsonl"
ROOM = 4096  # bytes; messages are cut so that every record fits


def write(folder: Path, name: str, document: dict[str, Any]) -> None:
    """Atomic, and on the disk when it returns."""
    temporary = folder / f".{name}.{os.getpid()}.{threading.get_ident()}"
    with temporary.open("w") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(folder / name)


def reserve(folder: Path, name: str) -> None:
    """Room on the disk for a record that has to be written even if the disk is full by then."""
    with (folder / f".{name}.room").open("wb") as file:
        file.write(b" " * ROOM)


def fill(folder: Path, name: str, document: dict[str, Any]) -> None:
    """As `write`, in the room that was reserved."""
    room = folder / f".{name}.room"
    with room.open("r+b") as file:
        file.write(json.dumps(document).encode().ljust(ROOM))  # JSON ends where it ends; blanks behind it do no harm
        file.flush()
        os.fsync(file.fileno())
    room.replace(folder / name)


def read(folder: Path, name: str) -> dict[str, Any] | None:
    """None when it is not there, or not whole."""
    try:
        document = json.loads((folder / name).read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def process_start(pid: int) -> str | None:
    """A mark that tells this process from a later one with the same number: boot id and start time. None: no such
    process, or not Linux (where the lock alone is trusted)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return f"{boot}/{stat.rsplit(')', 1)[1].split()[19]}"
