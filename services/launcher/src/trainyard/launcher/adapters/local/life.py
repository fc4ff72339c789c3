"""Whether a rank lives, and what its folder says of it (see supervisor.record for the files)."""

from __future__ import annotations

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import structlog

from trainyard.common.lifecycle.states import EndReason
from trainyard.launcher.adapters.local.supervisor import record, run
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen

log = structlog.get_logger()

_ROUNDS = 3


def held(folder: Path) -> bool:
    """Whether a supervisor lives. Takes its lock for a moment, which the supervisor knows (see supervisor.run)."""
    try:
        descriptor = os.open(folder / record.LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def ended(rank: int, how: dict[str, Any], who: dict[str, Any] | None) -> RankSeen:
    """From the exit record."""
    return RankSeen(
        rank,
        Phase.ENDED,
        pid=who["pid"] if who else None,
        exit_code=how.get("exit_code"),
        signal=how.get("signal"),
        reason=EndReason(how["reason"]) if "reason" in how else None,
        message=how.get("message", ""),
        ended_at=float(how.get("ended", 0)),
        stopped=bool(how.get("stopped")),
        stopped_for=how.get("why") or "",
        max_rss=how.get("max_rss"),
        cpu_seconds=how.get("cpu_seconds"),
    )


def end_orphans(job: Job, who: dict[str, Any]) -> None:
    """A supervisor was killed: what its rank left behind must not hold devices or ports of the next attempt."""
    mine = {"TRAINYARD_JOB_ID": job.job_id, "TRAINYARD_ATTEMPT": str(job.attempt)}
    if who.get("mark") is not None and record.process_start(int(who["pid"])) == who["mark"]:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(who["pid"]), signal.SIGKILL)
    for _ in range(_ROUNDS):  # again, for what was forked meanwhile
        orphans = [process for process in psutil.process_iter() if _is_orphan(process, mine)]
        for process in orphans:
            log.warning("an orphan of a lost rank is killed", job_id=job.job_id, pid=process.pid)
            with suppress(psutil.Error):
                process.kill()
        if not orphans:
            return


def _is_orphan(process: psutil.Process, mine: dict[str, str]) -> bool:
    try:
        environment = process.environ()
        if any(environment.get(name) != value for name, value in mine.items()):
            return False
        # Under a supervisor it belongs to another rank, which lives.
        return not any(run.__file__ in parent.cmdline() for parent in process.parents())
    except psutil.Error:
        return False
