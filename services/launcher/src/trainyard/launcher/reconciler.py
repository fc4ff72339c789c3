"""From the log to running jobs: who is known, who waits, who is shepherded.

Level-triggered: every event only says which job to look at; what happens follows from where the job stands. After a
restart the jobs that run are found first (they hold their resources), then those that wait are queued in their old order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import ParamSpec

import structlog

from trainyard.common.bus.port import EventLog
from trainyard.common.clock import Clock
from trainyard.common.contract import events, subjects
from trainyard.common.contract.nodes import NODE_EVENTS
from trainyard.common.lifecycle.states import EndReason, State
from trainyard.launcher.building import Building
from trainyard.launcher.core import resizing
from trainyard.launcher.core.admission import Need, asks_for
from trainyard.launcher.core.devices import Given
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.pending import pending_fault
from trainyard.launcher.core.sight import Room
from trainyard.launcher.parts import Parts
from trainyard.launcher.ports import ActiveSet, Backend
from trainyard.launcher.shepherd import Shepherd, Unschedulable

log = structlog.get_logger()
P = ParamSpec("P")

FILTERS = (
    *(subjects.of_kind("job", kind) for kind in events.JOB_EVENTS if kind != events.JobProgress.kind),
    *(subjects.of_kind("node", kind) for kind in NODE_EVENTS),
)  # progress changes no state, and there is much of it
APPENDS = 256  # under way at once; thousands would wait for one another until they time out and are sent again
TICK = 1.0  # seconds between two looks at deadlines of waiting jobs
_RUNS = frozenset({State.STARTING, State.RUNNING, State.RESTARTING})
_PRESENT = frozenset({State.STARTING, State.RUNNING})
_ENDING = frozenset({State.SUSPENDING, State.CANCELLING})
_WAITS = frozenset({State.RESOLVED, State.QUEUED})


class Reconciler:
    def __init__(self, *, log: EventLog, active: ActiveSet, parts: Parts, noop: Backend, clock: Clock) -> None:
        """`noop`: the backend of jobs that ask for the image of that name."""
        self._log = log
        self._active = active
        self._backends = {"default": parts.backend, "noop": noop}
        self._nodes = parts.nodes
        self._images = parts.images
        self._building = Building(parts.images, self._writer)
        self._admission = parts.admission
        self._needed = parts.need
        self._accelerators = parts.accelerators
        self._share = parts.share
        self._moved = parts.moved
        self._clock = clock
        self._room = asyncio.Semaphore(APPENDS)
        self._jobs: dict[str, Job] = {}
        self._shepherds: dict[str, Shepherd] = {}
        self._tending: dict[str, asyncio.Task[None]] = {}
        """Job → what its shepherd does."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._preparing: set[str] = set()
        self._failing: set[str] = set()
        self._untold: set[str] = set()
        """Jobs in the queue whose waiting has not been told yet."""
        self._ended: set[str] = set()
        """Jobs that a shepherd has brought to their end and whose last event has not come back from the log yet. What comes
        back before it is old news."""
        self.caught_up = False

    async def run(self) -> None:
        """For ever. A fault of one job stays with that job; a fault in here ends the process, which starts anew from the
        log."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            for backend in self._backends.values():
                backend.on_change(self._wake)
            if self._share is not None:
                self._share.on_change(self._reshare)
            group.create_task(self._follow())
            group.create_task(self._watch_deadlines())

    async def _follow(self) -> None:
        self._jobs = self._active.all()
        async for batch in self._log.follow(after=self._active.cursor, filters=FILTERS):
            moved = self._active.apply(batch)
            if self.caught_up:
                for job in moved:
                    self._touch(job)
                    self._moved(job.job_id)
                self._admit()
            else:
                for job in moved:
                    self._jobs[job.job_id] = job
                if batch.caught_up:
                    self._begin()
            await asyncio.sleep(0)

    def _begin(self) -> None:
        """The log is read to its end: take up what an earlier launcher left."""
        self.caught_up = True
        jobs = sorted((job for job in self._jobs.values() if not job.head.terminal), key=lambda job: job.submitted_at)
        self._jobs = {}
        log.info("taking up jobs", count=len(jobs))
        for job in sorted(jobs, key=lambda job: job.head.state not in _RUNS):
            self._touch(job)
        self._admit()

    def _touch(self, job: Job) -> None:
        """One job after the log has moved it. Looks at where it stands, not at what happened."""
        shepherd = self._shepherds.get(job.job_id)
        if shepherd is not None:
            shepherd.learn(job)
        if job.head.terminal:
            self._ended.discard(job.job_id)
            self._forget(job.job_id)
            return
        if job.job_id in self._ended or not self._ours(job.job_id):
            return
        self._jobs[job.job_id] = job
        if shepherd is not None:
            if not job.resizing and job.head.state in _PRESENT:
                self._admission.settle(job.job_id, self._need(job), job.devices)
            return
        if job.head.state in _RUNS:
            self._admission.occupy(job.job_id, self._need(job), job.devices)
            self._herd(job)
        elif job.head.state in _ENDING:
            self._admission.release(job.job_id)
            if job.head.attempt:  # its ranks have their grace, and hold what they have until then
                self._admission.occupy(job.job_id, self._need(job), job.devices)
            self._herd(job)
        elif job.head.state in _WAITS and job.job_id not in self._preparing:
            self._prepare(job)

    def _ours(self, job_id: str) -> bool:
        return self._share is None or self._share.owns(job_id)

    def _wake(self, job_id: str) -> None:
        """The backend sees something new of a job."""
        shepherd = self._shepherds.get(job_id)
        if shepherd is not None:
            shepherd.wake.set()

    def _reshare(self) -> None:
        """Jobs that are another launcher's now are left to it; those that are ours now are taken up where they stand.

        For a moment two may tend one job: what they do to it is the same, and the log takes only one of two events."""
        if not self.caught_up:
            return
        for job_id in [job_id for job_id in self._jobs if not self._ours(job_id)]:
            task = self._tending.pop(job_id, None)
            if task is not None:
                task.cancel()
            self._shepherds.pop(job_id, None)
            self._forget(job_id)
        for job in self._active.all().values():
            if job.job_id not in self._jobs and not job.head.terminal:
                self._touch(job)
        self._admit()

    def _prepare(self, job: Job) -> None:
        """Into the queue, once its image is there."""
        fault = self._admission.impossible(self._need(job.at_asked_size()))
        if fault is not None and job.resizing:
            self._spawn(self._withdraw, job, fault)
        elif fault is not None:
            self._spawn(self._fail, job, EndReason.UNSCHEDULABLE, fault)
        elif not self._building.is_there(job):
            self._preparing.add(job.job_id)
            self._spawn(self._build_image, job)
        else:
            self._offer(job)

    async def _build_image(self, job: Job) -> None:
        fault = await self._building.build(job)
        self._preparing.discard(job.job_id)
        if fault is not None:
            await self._fail(self._jobs.get(job.job_id, job), EndReason.IMAGE, fault)
            return
        latest = self._jobs.get(job.job_id)
        if latest is not None and latest.head.state in _WAITS:
            self._prepare(latest)  # it may have been resized, beyond what there is
            self._admit()

    def _offer(self, job: Job) -> None:
        need = self._need(job.at_asked_size())
        self._admission.offer(job.job_id, need, priority=job.spec.priority, order=_order(job))
        if job.head.state is State.RESOLVED:
            self._untold.add(job.job_id)

    def _admit(self) -> None:
        for job_id in self._admission.admit():
            job = self._jobs.get(job_id)
            self._untold.discard(job_id)
            if job is None:
                self._admission.release(job_id)
            else:
                self._herd(job)
        for job_id in self._untold:
            if job_id in self._jobs:
                self._spawn(self._tell_waiting, self._jobs[job_id])
        self._untold.clear()

    async def _tell_waiting(self, job: Job) -> None:
        message = self._admission.waits_for(self._need(job.at_asked_size()))
        if job.job_id in self._shepherds:
            return
        writer = self._writer(job)
        await writer.tell(events.JobQueued(job_id=job.job_id, attempt=job.attempt, message=message))
        if job.job_id not in self._shepherds and job.job_id in self._jobs:
            self._jobs[job.job_id] = writer.job

    def _herd(self, job: Job) -> None:
        shepherd = self._writer(job)
        shepherd.devices = self._admission.devices_of(job.job_id)
        shepherd.renew = self._renew
        shepherd.size = self._room_for
        self._shepherds[job.job_id] = shepherd
        self._tending[job.job_id] = self._spawn(self._run, shepherd)

    async def _renew(self, job: Job) -> Given | None:
        """Accelerators for another attempt: one of those that it had may be what the last one failed of. Raises
        Unschedulable where too few are left."""
        need = self._need(job)
        there = [device.id for device in await asyncio.to_thread(self._accelerators)] if need.devices else []
        given = self._admission.renew(job.job_id, need, there)
        if not job.resizing:  # who still waits for more is not passed
            self._admit()  # it may hold less now
        fault = self._admission.impossible(need) if given is None else None
        if fault is not None:
            raise Unschedulable(fault)
        return given

    def _room_for(self, job: Job) -> Room:
        """Whether a job may have the size that was asked for; what that takes is kept for it from then on."""
        after = job.at_asked_size()
        need = self._need(after)
        fault = self._admission.impossible(need) or "; ".join(self._backend(job).faults(after))
        if fault:
            return Room(fault=fault)
        wanted = partial(self._admission.resize, job.job_id, need, priority=job.spec.priority, order=_order(job))
        if not wanted():
            self._admit()  # its turn may have come
            if not wanted():
                return Room(waits=resizing.waits(job, asks_for(need)))
        return Room()

    async def _withdraw(self, job: Job, fault: str) -> None:
        writer = self._writer(job)
        await writer.tell(resizing.withdrawn(job, fault))

    async def _run(self, shepherd: Shepherd) -> None:
        job_id = shepherd.job.job_id
        delay = 1.0
        while True:
            try:
                await shepherd.run()
                break
            except Exception as error:
                log.error("a job cannot be handled; trying again", job_id=job_id, delay=delay, exc_info=error)
                await asyncio.sleep(delay)
                delay = min(delay * 2, 60.0)
        self._shepherds.pop(job_id, None)
        self._tending.pop(job_id, None)
        if job_id in self._jobs and shepherd.job.head.terminal:
            self._ended.add(job_id)
        shepherd.backend.forget(shepherd.job)
        self._forget(job_id)
        if shepherd.job.head.state in _WAITS:  # suspended, and resumed at once
            self._touch(shepherd.job)
        self._admit()

    async def _fail(self, job: Job, reason: EndReason, message: str) -> None:
        if job.job_id in self._failing:
            return
        writer = self._writer(job)
        self._failing.add(job.job_id)
        failed = events.JobFailed(job_id=job.job_id, attempt=job.attempt, reason=reason, message=message)
        try:
            # The job may move meanwhile (a cancel); an event that no longer fits is not written.
            while writer.job.head.state in _WAITS:
                await writer.tell(failed)
        finally:
            self._failing.discard(job.job_id)
        if writer.job.head.state is State.CANCELLING:
            self._touch(writer.job)

    async def _watch_deadlines(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            now = self._clock.now().timestamp()
            for job in list(self._jobs.values()):
                if job.job_id not in self._shepherds and job.head.state in _WAITS:
                    fault = pending_fault(job, now)
                    if fault is not None:
                        self._spawn(self._fail, job, fault.reason, fault.message)

    def _forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)
        self._untold.discard(job_id)
        self._admission.release(job_id)

    def _writer(self, job: Job) -> Shepherd:
        if job.image == "noop":
            return Shepherd(job, self._log, self._backend(job), self._images, self._clock, self._room)
        return Shepherd(job, self._log, self._backend(job), self._images, self._clock, self._room, self._nodes)

    def _backend(self, job: Job) -> Backend:
        return self._backends["noop" if job.image == "noop" else "default"]

    def _need(self, job: Job) -> Need:
        """Of its present size."""
        return Need(0, 0) if job.image == "noop" else self._needed(job)

    def _spawn(
        self, work: Callable[P, Coroutine[None, None, None]], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Task[None]:
        task = self._group.create_task(_guarded(work, *args, **kwargs))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _order(job: Job) -> int:
    return int(job.submitted_at * 1e6)


async def _guarded(work: Callable[P, Coroutine[None, None, None]], *args: P.args, **kwargs: P.kwargs) -> None:
    """Trouble with one job is told; what was not done is found again by the next look at where the job stands."""
    try:
        await work(*args, **kwargs)
    except Exception as error:
        log.error("work on a job failed", exc_info=error)
