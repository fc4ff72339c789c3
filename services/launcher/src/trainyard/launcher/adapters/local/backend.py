"""The local backend: one supervisor a rank, in a session of its own, which outlives this launcher.

The launcher only writes files and looks at files; whether a rank lives is asked of its lock. So a launcher that was killed
finds everything again, a rank is never started twice, and no process number is ever trusted.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import structlog

import trainyard.common
import trainyard.launcher
from trainyard.common.errors import TrainyardError
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.common.loopback import free_port
from trainyard.launcher.adapters.local.folders import LocalFolders
from trainyard.launcher.adapters.local.reports import ReportReader
from trainyard.launcher.adapters.local.supervisor import record, run
from trainyard.launcher.core import plan
from trainyard.launcher.core.frameworks.shape import Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.plan import Interpreter, RankPlan
from trainyard.launcher.ports import Report

log = structlog.get_logger()

BIRTH = 10.0  # seconds a supervisor has to take its lock, after which it is started again
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


class LocalBackend:
    """Implements ports.Backend."""

    name = "local"
    instant = False

    def __init__(self, state: Path, node: str) -> None:
        self.node = node
        self._folders = LocalFolders(state)
        self._reports = ReportReader()
        self._logs = LogStore(self._folders.logs)
        self._born: dict[Path, float] = {}
        self._ours: set[int] = set()
        """Supervisors that this launcher has started."""

    async def start(self, job: Job, interpreter: Interpreter) -> None:
        try:
            folders = self._folders.make(job)
            attempt = plan.build(
                job,
                folders=folders,
                interpreter=interpreter,
                rendezvous=Rendezvous("127.0.0.1", self._port(job), LOOPBACK, job.attempt),
                inherited=os.environ,
                traceparent=job.trace,
            )
            for rank in attempt.ranks:
                folder = self._folders.rank(job, rank.place.rank)
                if record.read(folder, record.PLAN) is None:
                    record.write(folder, record.PLAN, self._document(job, rank))
                if self._may_be_born(folder):
                    self._spawn(folder)
        except OSError as error:
            raise TrainyardError(f"the job's folder cannot be written: {error.strerror or error}") from error

    def look(self, job: Job) -> Sequence[RankSeen]:
        self._reap()
        if not self._folders.attempt(job).exists():
            return []
        return [self._see(job, place.rank) for place, _ in plan.places(job.spec)]

    async def stop(self, job: Job, why: str) -> None:
        for place, _ in plan.places(job.spec):
            folder = self._folders.rank(job, place.rank)
            if not folder.exists() or record.read(folder, record.EXIT) is not None:
                continue
            if record.read(folder, record.STOP) is None:
                record.write(folder, record.STOP, {"grace": job.spec.timeouts.grace, "why": why})
            who = record.read(folder, record.PID)
            if who is not None and _held(folder):
                # A nudge; the supervisor also looks for the file by itself.
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(int(who["supervisor"]), signal.SIGTERM)

    def outputs(self, job: Job) -> str | None:
        return str(self._folders.output(job))

    def tail(self, job: Job, rank: int, count: int) -> Sequence[str]:
        return self._logs.last_lines(job.job_id, job.attempt, rank, count)

    def reports(self, job: Job, rank: int | None, after: int) -> list[Report]:
        candidates = [rank] if rank is not None else [place.rank for place, _ in plan.places(job.spec)]
        for candidate in candidates:
            found = self._reports.read(self._folders.rank(job, candidate) / record.REPORT, candidate, after)
            if found:
                return found
        return []

    def _document(self, job: Job, rank: RankPlan) -> dict[str, Any]:
        return {
            "command": list(rank.command),
            "cwd": rank.cwd,
            "env": rank.env,
            "log": str(self._folders.log(job, rank.place.rank)),
        }

    def _port(self, job: Job) -> int:
        """One port for all ranks of an attempt, another for the next: the same after a restart of the launcher."""
        file = self._folders.attempt(job) / "port"
        with suppress(FileNotFoundError, ValueError):
            return int(file.read_text())
        port = free_port()
        temporary = file.with_suffix(".tmp")
        temporary.write_text(str(port))
        temporary.replace(file)
        return port

    def _may_be_born(self, folder: Path) -> bool:
        if _held(folder) or record.read(folder, record.EXIT) is not None or record.read(folder, record.PID) is not None:
            return False
        return time.monotonic() - self._born.get(folder, -BIRTH) >= BIRTH

    def _spawn(self, folder: Path) -> None:
        # Only these two packages; nothing else of the environment is needed or wanted.
        paths = {str(Path(package.__path__[0]).parent.parent) for package in (trainyard.common, trainyard.launcher)}
        command = [sys.executable, "-I", "-S", run.__file__, str(folder), *sorted(paths)]
        silence = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
        # Not `subprocess`: its objects stand for children that are waited for, these are meant to be left alone.
        self._ours.add(os.posix_spawn(sys.executable, command, {}, file_actions=silence))
        self._born[folder] = time.monotonic()

    def _reap(self) -> None:
        """Supervisors that have ended while we are still there are our zombies."""
        for pid in list(self._ours):
            try:
                ended, _ = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                ended = pid
            if ended:
                self._ours.discard(pid)

    def _see(self, job: Job, rank: int) -> RankSeen:
        folder = self._folders.rank(job, rank)
        ended = record.read(folder, record.EXIT)
        who = record.read(folder, record.PID)
        if ended is None and not _held(folder):
            # Looked at twice: it may have ended between the two looks.
            ended = record.read(folder, record.EXIT)
        if ended is not None:
            self._born.pop(folder, None)
            return _ended(rank, ended, who)
        if _held(folder):
            return RankSeen(rank, Phase.RUNNING if who else Phase.STARTING, pid=who["pid"] if who else None)
        if who is not None:
            _end_orphans(job, who)
            return RankSeen(rank, Phase.VANISHED, pid=who["pid"], ended_at=time.time())
        if time.monotonic() - self._born.get(folder, -BIRTH) < BIRTH:
            return RankSeen(rank, Phase.STARTING)
        return RankSeen(rank, Phase.ABSENT)


def _ended(rank: int, ended: dict[str, Any], who: dict[str, Any] | None) -> RankSeen:
    reason = EndReason.OOM if ended.get("oom") else None
    if "reason" in ended:
        reason = EndReason(ended["reason"])
    return RankSeen(
        rank,
        Phase.ENDED,
        pid=who["pid"] if who else None,
        exit_code=ended.get("exit_code"),
        signal=ended.get("signal"),
        reason=reason,
        message=ended.get("message", ""),
        ended_at=float(ended.get("ended", 0)),
        stopped=bool(ended.get("stopped")),
        max_rss=ended.get("max_rss"),
        cpu_seconds=ended.get("cpu_seconds"),
    )


def _held(folder: Path) -> bool:
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


def _end_orphans(job: Job, who: dict[str, Any]) -> None:
    """A supervisor was killed: what its rank left behind must not hold devices or ports of the next attempt."""
    mine = {"TRAINYARD_JOB_ID": job.job_id, "TRAINYARD_ATTEMPT": str(job.attempt)}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            environment = process.environ()
            if all(environment.get(name) == value for name, value in mine.items()) and not _supervised(process):
                log.warning("an orphan of a lost rank is killed", job_id=job.job_id, pid=process.pid)
                process.kill()
    if record.process_start(int(who["pid"])) == who.get("mark") and who.get("mark") is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(int(who["pid"]), signal.SIGKILL)


def _supervised(process: psutil.Process) -> bool:
    """Whether a supervisor stands above it: then it belongs to another rank, which lives."""
    return any(run.__file__ in parent.cmdline() for parent in process.parents())
