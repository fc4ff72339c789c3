"""Where things of the local backend lie below the state folder.

jobs/<job>/output        what the job writes for others; kept across attempts
jobs/<job>/checkpoint    what it needs to go on
jobs/<job>/source        its folder, where that was sent along
jobs/<job>/<attempt>/<rank>/   plan, lock, pid, stop, exit, reports (see supervisor.record)
logs/<job>/<attempt>/<rank>/   see common.logs
worker/<digest>/trainyard/{worker,data,tensors}   what jobs import of us, for PYTHONPATH
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from pathlib import Path

from trainyard.common.logs.layout import rank_folder
from trainyard.launcher.adapters.local.supervisor import record
from trainyard.launcher.adapters.worker_files import worker_files
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import Folders, places
from trainyard.worker.pod import source


class LocalFolders:
    def __init__(self, state: Path) -> None:
        self._state = state

    def output(self, job: Job) -> Path:
        return self._state / "jobs" / job.job_id / "output"

    def rank(self, job: Job, rank: int) -> Path:
        return self._state / "jobs" / job.job_id / str(job.attempt) / str(rank)

    def attempt(self, job: Job) -> Path:
        return self._state / "jobs" / job.job_id / str(job.attempt)

    @property
    def logs(self) -> Path:
        return self._state / "logs"

    def log(self, job: Job, rank: int) -> Path:
        return rank_folder(self.logs, job.job_id, job.attempt, rank)

    def make(self, job: Job, archive: bytes | None = None) -> Folders:
        """Everything that the job's processes find there. `archive`: its folder, where that was sent along. May be repeated.
        Raises OSError and BadZipFile."""
        output = self.output(job)
        checkpoint = output.with_name("checkpoint")
        for folder in (output, checkpoint):
            folder.mkdir(parents=True, exist_ok=True)
        ranks = [place.rank for place, _ in places(job.spec)]
        for rank in ranks:
            self.rank(job, rank).mkdir(parents=True, exist_ok=True)
        return Folders(
            workdir=self._unpacked(job, archive) if archive else job.spec.workdir or str(output),
            output=str(output),
            checkpoint=str(checkpoint),
            worker=str(self._worker()),
            reports={rank: str(self.rank(job, rank) / record.REPORT) for rank in ranks},
        )

    def _unpacked(self, job: Job, archive: bytes) -> str:
        folder = self._state / "jobs" / job.job_id / "source"
        file = folder.with_name(f"source.{os.getpid()}.{threading.get_ident()}.zip")
        file.write_bytes(archive)
        try:
            source.unpack(str(file), str(folder))
        finally:
            file.unlink()
        return str(folder)

    def _worker(self) -> Path:
        """A folder that holds what jobs import of us (`worker_files`) and nothing else, so any image can import it."""
        files = worker_files()
        digest = hashlib.sha256(b"".join(files.values())).hexdigest()[:16]
        target = self._state / "worker" / digest
        if not target.exists():
            making = target.with_name(f".{digest}.{os.getpid()}.{threading.get_ident()}")
            shutil.rmtree(making, ignore_errors=True)
            for path, content in files.items():
                (making / path).parent.mkdir(parents=True, exist_ok=True)
                (making / path).write_bytes(content)
            try:
                making.rename(target)
            except OSError:  # another launcher was faster
                shutil.rmtree(making, ignore_errors=True)
        return target
