"""`python -I -S run.py <rank folder> <import paths…>`: the supervisor's entry.

It detaches from the launcher (own session), takes the rank's lock or leaves quietly when another supervisor has it, runs
the rank and writes the exit record. Whatever goes wrong in here is written there too: a rank never ends without one.
"""

from __future__ import annotations

import fcntl
import os
import sys
import time
from pathlib import Path


def main(folder: Path) -> None:
    from trainyard.launcher.adapters.local.supervisor import record, tree  # noqa: PLC0415 - after the import paths
    from trainyard.launcher.adapters.local.supervisor.rank import Rank  # noqa: PLC0415

    if os.getsid(0) != os.getpid():
        os.setsid()
    os.chdir("/")
    lock = os.open(folder / record.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _take(lock):
        return
    if record.read(folder, record.EXIT) is not None:
        return
    plan = record.read(folder, record.PLAN)
    try:
        if plan is None:
            raise RuntimeError("the plan of the rank cannot be read")
        tree.become_subreaper()
        outcome = Rank(folder, plan).run()
    except Exception as error:  # noqa: BLE001 - the record must be written whatever happens
        outcome = {"reason": "start", "message": f"the supervisor failed: {error!r}", "ended": time.time()}
    record.write(folder, record.EXIT, outcome)


def _take(lock: int) -> bool:
    """The launcher tests the lock by taking it for a moment: a refusal is believed only when it lasts."""
    for _ in range(20):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.02)
    return False


if __name__ == "__main__":
    sys.path[:0] = sys.argv[2:]
    main(Path(sys.argv[1]))
