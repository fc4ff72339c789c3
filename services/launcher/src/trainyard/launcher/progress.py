"""Reports of ranks become progress events: about one a second, the newest, and the last one always."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.common.bus.port import EventLog
from trainyard.common.contract.events import JobProgress
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Backend, Report

INTERVAL = 1.0  # seconds between two progress events of a job


@dataclass(slots=True)
class Progress:
    """How far the reports of a job's present attempt have been told."""

    attempt: int
    number: int = 0
    rank: int | None = None
    told_at: float = 0.0
    """Monotonic seconds."""
    reported_at: float | None = None
    """Unix seconds, by the job's own clock; for the idle time-out."""
    held: Report | None = None
    """The newest report that was not told yet."""

    @classmethod
    async def resume(cls, log: EventLog, job: Job) -> Progress:
        """Where an earlier launcher left off, from the log."""
        progress = cls(job.attempt)
        for recorded in await log.latest("job", job.job_id):
            event = recorded.event
            if isinstance(event, JobProgress) and event.attempt == job.attempt:
                progress.number, progress.rank = event.number, event.rank
        return progress

    def take(self, job: Job, backend: Backend, now: float, *, last: bool = False) -> JobProgress | None:
        """The event that is due now, if one is. `last`: the ranks have ended, tell what is left at once."""
        if job.attempt != self.attempt:
            self.attempt, self.number, self.rank, self.held = job.attempt, 0, None, None
        seen = self.held.number if self.held is not None else self.number
        reports = backend.reports(job, self.rank, seen)
        if reports:
            self.held = reports[-1]
            self.rank = self.held.rank
            self.reported_at = self.held.time
        if self.held is None or (now - self.told_at < INTERVAL and not last):
            return None
        report, self.held = self.held, None
        self.number, self.told_at = report.number, now
        return JobProgress(
            job_id=job.job_id,
            attempt=job.attempt,
            number=report.number,
            rank=report.rank,
            epoch=report.epoch,
            epochs=report.epochs,
            step=report.step,
            steps=report.steps,
            metrics=report.metrics,
        )
