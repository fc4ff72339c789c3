"""One admitted job to its end: look, decide, act, and again. One coroutine a job.

All that it knows it can find again: the log says where the job stands, the backend how its ranks are. So it may be killed
at any line; the next launcher's shepherd of the same job goes on with the same question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
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
from trainyard.launcher.core.avoiding.nodes import Anywhere, Nodes
from trainyard.launcher.core.decide import decide, restart_delay
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.plan import Interpreter
from trainyard.launcher.core.sight import Append, Room, Sight, Start, Stop, Wait
from trainyard.launcher.ports import Backend, Images
from trainyard.launcher.progress import Progress

log = structlog.get_logger()

PATIENT_AFTER = 20.0  # seconds
FAULT_DELAY = 2.0  # seconds
TAIL = 20
_ALIVE = frozenset({Phase.STARTING, Phase.RUNNING})
_BETWEEN = frozenset({State.RESOLVED, State.QUEUED, State.RESTARTING})
"""No attempt is under way."""
_PRESENT = frozenset({State.STARTING, State.RUNNING})
_WITH_RANKS = frozenset({State.STARTING, State.RUNNING, State.SUSPENDING, State.CANCELLING})


class Unschedulable(TrainyardError):
    """There is no longer what the job asks for."""


@dataclass(slots=True)
class Shepherd:
    job: Job
    log: EventLog
    backend: Backend
    images: Images
    clock: Clock
    room: asyncio.Semaphore
    """Shared by all shepherds: so many appends are under way at once."""
    nodes: Nodes = field(default_factory=Anywhere)
    devices: tuple[tuple[str, ...], ...] = ()
    """Rank → accelerators that admission gave it."""
    renew: Callable[[Job], Awaitable[tuple[tuple[str, ...], ...] | None]] | None = None
    """Accelerators for another attempt of this size; None while they are not to be had. Raises Unschedulable."""
    size: Callable[[Job], Room] | None = None
    """Whether there is room for the size that was asked for; what that takes is kept from then on."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the log has moved the job (a cancel), or the backend sees something new."""
    _suspending: bool = False
    _told: str = ""
    """Why the job does not run yet, as the log was told last."""

    async def run(self) -> None:
        """Until the job has ended."""
        progress = Progress(self.job.attempt)
        if self.job.head.state is State.RUNNING:
            progress = await Progress.resume(self.log, self.job)
        began = self.clock.monotonic()
        while not self._done():
            try:
                await self._turn(progress, self.clock.monotonic() - began)
            except Unavailable as error:
                await self._after(error, error.delay)
            except OSError as error:  # of the backend: too many open files, a disk that does not answer
                await self._after(error, FAULT_DELAY)

    def _done(self) -> bool:
        """It has ended, or is suspended: who resumes it queues it anew, perhaps before we have learnt of its being so."""
        state = self.job.head.state
        self._suspending = self._suspending or state is State.SUSPENDING
        return self.job.head.terminal or (self._suspending and state not in {State.SUSPENDING, State.CANCELLING})

    def learn(self, job: Job) -> None:
        """The log has moved the job."""
        if job.head.seq > self.job.head.seq:
            self.job = job
            self.wake.set()

    async def _turn(self, progress: Progress, age: float) -> None:
        if self.job.head.state is State.RESTARTING:
            await self._rest(restart_delay(self.job))
        room = self._room_for_size() if self.job.head.state in _BETWEEN else None
        if not await self._renewed(room):
            return
        ranks = self.backend.look(self.job) if self.job.head.state in _WITH_RANKS else ()
        await self._tell_progress(progress, last=bool(ranks) and all(rank.over for rank in ranks))
        if self.job.head.state in _PRESENT and not any(rank.stopped for rank in ranks):
            room = self._room_for_size()
        decision = decide(self._sight(ranks, progress, room))
        if isinstance(decision, Append):
            if await self.append(decision.event) and isinstance(decision.event, events.JobPending):
                self._told = decision.event.message
        elif isinstance(decision, Start):
            await self._start()
        else:
            if isinstance(decision, Stop):
                await self.backend.stop(self.job, decision.why)
            soon, later = self.backend.poll
            patience = soon if age < PATIENT_AFTER else later
            asked = decision.seconds if isinstance(decision, Wait) else None
            await self._wait(patience if asked is None else min(asked, patience))

    def _room_for_size(self) -> Room | None:
        return self.size(self.job) if self.size is not None and self.job.resizing else None

    async def _renewed(self, room: Room | None) -> bool:
        """Whether the next attempt may begin: it takes its accelerators anew."""
        job = self.job
        resized = room is not None and not (room.waits or room.fault)
        restarts = job.head.state is State.RESTARTING and not (room is not None and room.fault)
        if self.renew is None or not (restarts or resized):
            return True
        try:
            given = await self.renew(job.at_asked_size() if resized else job)
        except Unschedulable as error:
            reason = EndReason.UNSCHEDULABLE
            failed = events.JobFailed(job_id=job.job_id, attempt=job.attempt, reason=reason, message=str(error))
            await self.append(failed)
            return False
        if given is None:
            await self._wait(self.backend.poll[1])
            return False
        self.devices = given
        return True

    def _sight(self, ranks: Sequence[RankSeen], progress: Progress, room: Room | None) -> Sight:
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
            devices=self.devices,
            heard_all=self.backend.heard_all(job),
            nodes=self.nodes,
            room=room,
            told=self._told,
        )

    async def _start(self) -> None:
        reason = EndReason.IMAGE
        try:
            interpreter = await self._interpreter()
            reason = EndReason.START
            if interpreter is not None:
                await self.backend.start(self.job, interpreter)
        except Unavailable:  # a cluster that does not answer has refused nothing
            raise
        except TrainyardError as error:
            # Some ranks may have been started by an earlier call.
            while any(rank.phase in _ALIVE for rank in self.backend.look(self.job)):
                await self.backend.stop(self.job, "the others cannot be started")
                await self._wait(self.backend.poll[0])
            job = self.job
            await self.append(
                events.JobFailed(job_id=job.job_id, attempt=job.attempt, reason=reason, message=str(error))
            )

    async def _interpreter(self) -> Interpreter | None:
        """The image, built again where somebody has deleted it; None when the log has moved the job meanwhile."""
        image = self.job.image or "host"
        found = self.images.interpreter(image)
        if found is not None:
            return found
        build = asyncio.ensure_future(self.images.build(image))
        moved = asyncio.ensure_future(self.wake.wait())
        try:
            await asyncio.wait({build, moved}, return_when=asyncio.FIRST_COMPLETED)
            return build.result() if build.done() else None
        finally:
            self.wake.clear()
            build.cancel()
            moved.cancel()

    async def _tell_progress(self, progress: Progress, *, last: bool) -> None:
        if self.job.head.state is not State.RUNNING:
            return
        event = progress.take(self.job, self.backend, self.clock, last=last)
        if event is not None and await self.append(event):
            progress.told(event)

    async def tell(self, event: events.JobEvent) -> bool:
        """As `append`, and again for as long as the log does not answer."""
        while True:
            try:
                return await self.append(event)
            except Unavailable as error:
                await self._after(error, error.delay)

    async def append(self, event: events.JobEvent) -> bool:
        """Stores the event if the job still stands where it was decided; otherwise learns where it stands."""
        if not allows(self.job.head, event.kind):
            return False
        before = self.job
        token = traceparent.set(before.trace)
        try:
            async with self.room:
                seq = await self.log.append(event, after=before.head.seq)
        except StaleSequence:
            await self._catch_up()
            return False
        finally:
            traceparent.reset(token)
        moved = jobs.apply(before, event, seq, self.clock.now().timestamp())
        if moved.head.seq > self.job.head.seq:
            self.job = moved
        return True

    async def _catch_up(self) -> None:
        job = self.job
        async for recorded in self.log.history("job", job.job_id, after=job.head.seq):
            job = jobs.apply(job, recorded.event, recorded.seq, jobs.seconds(recorded.time))
        self.job = job

    async def _after(self, error: Exception, seconds: float) -> None:
        log.warning("a job has to wait", job_id=self.job.job_id, error=str(error))
        await self._wait(seconds)

    async def _rest(self, seconds: float) -> None:
        """All of it, unless the log moves the job."""
        until, seq = self.clock.monotonic() + seconds, self.job.head.seq
        while (left := until - self.clock.monotonic()) > 0 and self.job.head.seq == seq:
            await self._wait(left)

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
