"""One admitted job to its end: look, decide, act, and again. One coroutine a job.

All that it knows it can find again: the log says where the job stands, the backend how its ranks are. So it may be killed
at any line; the next launcher's shepherd of the same job goes on with the same question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import structlog

from trainyard.common.bus.context import traceparent
from trainyard.common.bus.port import EventLog
from trainyard.common.clock import Clock
from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence, TrainyardError, Unavailable
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.common.lifecycle.transitions import allows
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.decide import Append, Sight, Start, Stop, decide, restart_delay
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen
from trainyard.launcher.core.plan import Interpreter
from trainyard.launcher.ports import Backend
from trainyard.launcher.progress import Progress

log = structlog.get_logger()

POLL = (0.05, 0.25)  # seconds between two looks, at first and after a while
PATIENT_AFTER = 20.0  # seconds
TAIL = 20
_WITH_RANKS = frozenset({State.STARTING, State.RUNNING, State.CANCELLING})


@dataclass(slots=True)
class Shepherd:
    job: Job
    log: EventLog
    backend: Backend
    interpreter: Interpreter
    clock: Clock
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the log has moved the job (a cancel)."""

    async def run(self) -> None:
        """Until the job has ended."""
        progress = Progress(self.job.attempt)
        if self.job.head.state is State.RUNNING:
            progress = await Progress.resume(self.log, self.job)
        began = self.clock.monotonic()
        while not self.job.head.terminal:
            try:
                await self._turn(progress, self.clock.monotonic() - began)
            except Unavailable as error:
                log.warning("the log does not answer", job_id=self.job.job_id, error=str(error))
                await asyncio.sleep(error.delay)

    def learn(self, job: Job) -> None:
        """The log has moved the job."""
        if job.head.seq > self.job.head.seq:
            self.job = job
            self.wake.set()

    async def _turn(self, progress: Progress, age: float) -> None:
        if self.job.head.state is State.RESTARTING:
            await self._wait(restart_delay(self.job))
        ranks = self.backend.look(self.job) if self.job.head.state in _WITH_RANKS else ()
        await self._tell_progress(progress, last=bool(ranks) and all(rank.over for rank in ranks))
        decision = decide(self._sight(ranks, progress))
        if isinstance(decision, Append):
            await self.append(decision.event)
        elif isinstance(decision, Start):
            await self._start()
        else:
            if isinstance(decision, Stop):
                await self.backend.stop(self.job, decision.why)
            await self._wait(POLL[0] if age < PATIENT_AFTER else POLL[1])

    def _sight(self, ranks: Sequence[RankSeen], progress: Progress) -> Sight:
        job = self.job
        return Sight(
            job=job,
            ranks=ranks,
            now=self.clock.now().timestamp(),
            last_progress=progress.reported_at,
            backend=self.backend.name,
            node=self.backend.node,
            outputs=self.backend.outputs(job),
            tail=lambda rank: self.backend.tail(job, rank, TAIL),
        )

    async def _start(self) -> None:
        try:
            await self.backend.start(self.job, self.interpreter)
        except TrainyardError as error:
            await self.append(
                events.JobFailed(
                    job_id=self.job.job_id, attempt=self.job.attempt, reason=EndReason.START, message=str(error)
                )
            )

    async def _tell_progress(self, progress: Progress, *, last: bool) -> None:
        if self.job.head.state is not State.RUNNING:
            return
        event = progress.take(self.job, self.backend, self.clock.monotonic(), last=last)
        if event is not None:
            await self.append(event)

    async def append(self, event: events.JobEvent) -> None:
        """Stores the event if the job still stands where it was decided; otherwise learns where it stands."""
        if not allows(self.job.head, event.kind):
            return
        before = self.job
        token = traceparent.set(before.trace)
        try:
            seq = await self.log.append(event, after=before.head.seq)
        except StaleSequence:
            await self._catch_up()
            return
        finally:
            traceparent.reset(token)
        moved = jobs.apply(before, event, seq, self.clock.now().timestamp())
        if moved.head.seq > self.job.head.seq:
            self.job = moved

    async def _catch_up(self) -> None:
        job = self.job
        async for recorded in self.log.history("job", job.job_id, after=job.head.seq):
            job = jobs.apply(job, recorded.event, recorded.seq, jobs.seconds(recorded.time))
        self.job = job

    async def _wait(self, seconds: float) -> None:
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        except TimeoutError:
            return
        finally:
            self.wake.clear()
