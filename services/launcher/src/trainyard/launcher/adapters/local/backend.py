"""The local backend: one supervisor a rank, in a session of its own, which outlives this launcher.

The launcher only writes files and looks at files; whether a rank lives is asked of its lock. So a launcher that was killed
finds everything again, a rank is never started twice, and no process number is ever trusted.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import structlog

import trainyard.common
import trainyard.launcher
from trainyard.common.errors import TrainyardError
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.common.sources.store import Sources
from trainyard.launcher.adapters.local import life
from trainyard.launcher.adapters.local.folders import LocalFolders
from trainyard.launcher.adapters.local.ports import Ports
from trainyard.launcher.adapters.local.reports import ReportReader
from trainyard.launcher.adapters.local.supervisor import record, run
from trainyard.launcher.core import plan
from trainyard.launcher.core.devices import Device
from trainyard.launcher.core.frameworks.shape import Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.plan import Interpreter, RankPlan
from trainyard.launcher.ports import Report

log = structlog.get_logger()

BIRTH = 10.0  # seconds a supervisor has to take its lock, after which it is started again
BIRTHS = 3  # supervisors of one rank, after which it is given up
HOST = "127.0.0.1"
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


class LocalBackend:
    """Implements ports.Backend."""

    name = "local"
    instant = False
    poll = (0.05, 0.25)

    def __init__(self, state: Path, node: str, devices: Sequence[Device] = (), sources: Sources | None = None) -> None:
        """`sources`: where the folders of jobs are that were sent along; None: none ever was."""
        self.node = node
        self._sources = sources
        self._visible = {device.id: device.visible for device in devices}
        self._folders = LocalFolders(state)
        self._reports = ReportReader()
        self._ports = Ports()
        self._logs = LogStore(self._folders.logs)
        self._births: dict[Path, list[float]] = {}
        """When the supervisors of a rank were started by this launcher (monotonic seconds)."""
        self._vanished: dict[Path, float] = {}
        """When a rank was found to have vanished (Unix seconds); what it left behind has been ended then."""
        self._ours: set[int] = set()
        """Supervisors that this launcher has started."""

    def faults(self, job: Job) -> Sequence[str]:
        """What it asks for is admission's to say."""
        del job
        return ()

    async def start(self, job: Job, interpreter: Interpreter) -> None:
        digest = job.spec.archive
        archive = await self._sources.get(digest) if digest and self._sources is not None else None
        if digest and archive is None:
            raise TrainyardError("the folder of this job was sent too long ago and is gone: submit it again")
        try:
            await asyncio.to_thread(self._make, job, interpreter, archive)  # files are forced to the disk
        except OSError as error:
            raise TrainyardError(f"the job's folder cannot be written: {error.strerror or error}") from error
        except BadZipFile as error:
            raise TrainyardError(f"the folder that was sent for this job cannot be unpacked: {error}") from error

    def look(self, job: Job) -> Sequence[RankSeen]:
        self._reap()
        if not self._folders.attempt(job).exists():
            return []
        return [self._see(job, place.rank) for place, _ in plan.places(job.spec)]

    async def stop(self, job: Job, why: str) -> None:
        for place, _ in plan.places(job.spec):
            folder = self._folders.rank(job, place.rank)
            if record.read(folder, record.EXIT) is not None or record.read(folder, record.STOP) is not None:
                continue
            try:
                folder.mkdir(parents=True, exist_ok=True)  # a rank that is not there yet must not begin any more
                record.write(folder, record.STOP, {"grace": job.spec.timeouts.grace, "why": why})
            except OSError as error:
                log.warning("a rank is stopped without a record", job_id=job.job_id, rank=place.rank, error=str(error))
            self._nudge(folder)

    def _nudge(self, folder: Path) -> None:
        """The supervisor also looks by itself, only later."""
        who = record.read(folder, record.PID)
        if who is not None and life.held(folder):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(int(who["supervisor"]), signal.SIGTERM)

    def forget(self, job: Job) -> None:
        ended = self._folders.output(job).parent
        self._reports.forget(ended)
        self._ports.forget(ended)
        for known in (self._births, self._vanished):
            for folder in [folder for folder in known if folder.is_relative_to(ended)]:
                del known[folder]

    def on_change(self, told: Callable[[str], None]) -> None:
        """Processes tell nobody; they are looked at."""

    def outputs(self, job: Job) -> str | None:
        return str(self._folders.output(job))

    def tail(self, job: Job, rank: int, count: int) -> Sequence[str]:
        return self._logs.last_lines(job.job_id, job.attempt, rank, count)

    def heard_all(self, job: Job) -> bool:
        """A supervisor has written all lines when it writes down the end."""
        del job
        return True

    def reports(self, job: Job, rank: int | None, after: int) -> list[Report]:
        candidates = [rank] if rank is not None else [place.rank for place, _ in plan.places(job.spec)]
        for candidate in candidates:
            found = self._reports.read(self._folders.rank(job, candidate) / record.REPORT, candidate, after)
            if found:
                return found
        return []

    def _make(self, job: Job, interpreter: Interpreter, archive: bytes | None) -> None:
        attempt = plan.build(
            job,
            folders=self._folders.make(job, archive),
            interpreter=interpreter,
            rendezvous=self._rendezvous(job),
            inherited=os.environ,
            traceparent=job.trace,
            visible=self._visible,
        )
        folders = [self._folders.rank(job, rank.place.rank) for rank in attempt.ranks]
        for folder, rank in zip(folders, attempt.ranks, strict=True):
            if record.read(folder, record.PLAN) is None:
                record.write(folder, record.PLAN, self._document(job, rank))
        for folder in folders:  # none before all plans are on the disk
            if self._may_be_born(folder):
                self._spawn(folder)

    def _document(self, job: Job, rank: RankPlan) -> dict[str, Any]:
        return {
            "command": list(rank.command),
            "cwd": rank.cwd,
            "env": rank.env,
            "grace": job.spec.timeouts.grace,
            "log": str(self._folders.log(job, rank.place.rank)),
        }

    def _rendezvous(self, job: Job) -> Rendezvous:
        """One port for all ranks of an attempt and one for each, others for the next attempt."""
        count = 1 + len(plan.places(job.spec))
        meet, *own = self._ports.of(self._folders.attempt(job) / "ports", count)
        return Rendezvous(HOST, meet, tuple(f"{HOST}:{port}" for port in own), LOOPBACK)

    def _may_be_born(self, folder: Path) -> bool:
        if life.held(folder) or any(record.read(folder, name) is not None for name in (record.EXIT, record.PID)):
            return False
        return not self._is_being_born(folder)

    def _is_being_born(self, folder: Path) -> bool:
        births = self._births.get(folder, [])
        return bool(births) and time.monotonic() - births[-1] < BIRTH

    def _spawn(self, folder: Path) -> None:
        # Only these two packages; nothing else of the environment is needed or wanted.
        paths = {str(Path(package.__path__[0]).parent.parent) for package in (trainyard.common, trainyard.launcher)}
        command = [sys.executable, "-I", "-S", run.__file__, str(folder), *sorted(paths)]
        silence = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1)]
        complaints = (
            os.POSIX_SPAWN_OPEN,
            2,
            str(folder / record.ERRORS),
            os.O_WRONLY | os.O_CREAT | os.O_APPEND,
            0o600,
        )
        self._births.setdefault(folder, []).append(time.monotonic())
        # Not `subprocess`: its objects stand for children that are waited for, these are meant to be left alone.
        try:
            self._ours.add(os.posix_spawn(sys.executable, command, {}, file_actions=[*silence, complaints]))
        except OSError as error:  # no memory or no process to be had now; another birth is due later
            log.warning("a supervisor cannot be started", folder=str(folder), error=str(error))

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
        if ended is None and life.held(folder):
            return RankSeen(rank, Phase.RUNNING if who else Phase.STARTING, pid=who["pid"] if who else None)
        ended = ended or record.read(folder, record.EXIT)  # it may have ended between the two looks
        if ended is not None:
            return life.ended(rank, ended, who)
        if who is not None:
            if folder not in self._vanished:
                self._vanished[folder] = time.time()
                life.end_orphans(job, who)
            return RankSeen(rank, Phase.VANISHED, pid=who["pid"], ended_at=self._vanished[folder], of_node=True)
        if self._is_being_born(folder):
            return RankSeen(rank, Phase.STARTING)
        if len(self._births.get(folder, ())) >= BIRTHS:
            message = f"its supervisor did not come up in {BIRTHS} tries of {BIRTH:g} s{life.complaint(folder)}"
            return RankSeen(rank, Phase.ENDED, reason=EndReason.START, message=message, ended_at=time.time())
        return RankSeen(rank, Phase.ABSENT, stopped=record.read(folder, record.STOP) is not None)
