"""Reports of ranks become progress events: about one a second, the newest, and the last one always."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.common.bus.port import EventLog
from trainyard.common.clock import Clock
from trainyard.common.contract.events import JobProgress
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Backend

INTERVAL = 1.0  # seconds between two looks at the reports of a job, and so between two of its progress events


@dataclass(slots=True)
class Progress:
    """How far the reports of a job's present attempt have been told."""

    attempt: int
    number: int = 0
    rank: int | None = None
    looked_at: float = float("-inf")
    """Monotonic seconds."""
    reported_at: float | None = None
    """When a report was seen last, in Unix seconds by our clock (the job's own may be wrong); for the idle time-out."""

    @classmethod
    async def resume(cls, log: EventLog, job: Job) -> Progress:
        """Where an earlier launcher left off, from the log."""
        progress = cls(job.attempt)
        for recorded in await log.latest("job", job.job_id):
            event = recorded.event
            if isinstance(event, JobProgress) and event.attempt == job.attempt:
                progress.number, progress.rank = event.number, event.rank
                progress.reported_at = jobs.seconds(recorded.time)
        return progress

    def take(self, job: Job, backend: Backend, clock: Clock, *, last: bool = False) -> JobProgress | None:
        """The event that is due now, if one is. `last`: the ranks have ended, tell what is left at once."""
        now = clock.monotonic()
        if now - self.looked_at < INTERVAL and not last:
            return None
        self.looked_at = now
        if job.attempt != self.attempt:
            self.attempt, self.number, self.rank = job.attempt, 0, None
        reports = backend.reports(job, self.rank, self.number)
        if not reports:
            return None
        report = reports[-1]
        self.rank, self.reported_at = report.rank, clock.now().timestamp()
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

    def told(self, event: JobProgress) -> None:
        """The event is in the log; one that is not is taken again."""
        self.number = event.number
