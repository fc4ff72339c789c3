"""A launcher on the bus in memory, with real supervisors and real processes below it."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio

from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.clock import SystemClock
from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.projection.store import Store
from trainyard.common.testing.builders import spec
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.local.backend import LocalBackend
from trainyard.launcher.adapters.local.images import LocalImages
from trainyard.launcher.adapters.noop import NoopBackend
from trainyard.launcher.adapters.projection import SCHEMA, ActiveJobs
from trainyard.launcher.core.admission import Admission, Need, need_of
from trainyard.launcher.core.devices import Device
from trainyard.launcher.core.frameworks.shape import Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import AttemptPlan, Folders, Interpreter, build, places
from trainyard.launcher.parts import Parts
from trainyard.launcher.reconciler import Reconciler


class World:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.catalogue = state / "catalogue"
        self.catalogue.mkdir()
        self.bus = MemoryBus()
        self.devices: list[Device] = []
        self._task: asyncio.Task[None] | None = None
        self._store: Store | None = None

    async def start(self) -> None:
        self._store = Store(self.state / "launcher.sqlite", SCHEMA, await self.bus.identity())
        self.reconciler = Reconciler(
            log=self.bus,
            active=ActiveJobs(self._store),
            parts=Parts(
                LocalBackend(self.state, "node", self.devices),
                LocalImages(self.catalogue, self.state / "images"),
                Admission(Need(4.0, 2**40, ranks=64), self.devices),
                lambda job: need_of(job.spec, job.resolution),
                accelerators=lambda: self.devices,
            ),
            noop=NoopBackend("node"),
            clock=SystemClock(),
        )
        self._task = asyncio.create_task(self.reconciler.run())

    async def kill(self) -> None:
        """The launcher dies at whatever line it is; nothing is tidied up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._store is not None:
            self._store.close()

    async def submit(self, command: str, image: str = "host", **changes: Any) -> str:
        """A job that the matrix has answered; `command` is a line for sh."""
        job = ids.new_job_id()
        made = spec(command=["sh", "-c", command], **changes)
        seq = await self.bus.append(events.JobSubmitted(job_id=job, spec=made), after=0)
        resolution = events.Resolution(image=image)
        await self.bus.append(events.JobResolved(job_id=job, spec=made, resolution=resolution), after=seq)
        return job

    async def cancel(self, job: str) -> None:
        while True:
            latest = await self.bus.latest("job", job)
            try:
                await self.bus.append(events.JobCancelling(job_id=job, by="ann"), after=latest[-1].seq)
                return
            except StaleSequence:
                continue

    async def kinds(self, job: str) -> list[str]:
        return [item.event.kind async for item in self.bus.history("job", job)]

    async def until(self, job: str, *kinds: str, within: float = 30) -> Any:
        """The job's last event, once it is one of these."""

        async def look() -> Any:
            event = (await self.bus.latest("job", job))[-1].event
            return event if event.kind in kinds else None

        return await eventually(look, within=within)

    def projected(self, job: str) -> str:
        """What the projection of a launcher that is not there says of a job."""
        with closing(sqlite3.connect(self.state / "launcher.sqlite")) as db:
            return str(db.execute("SELECT rest FROM active WHERE job_id = ?", (job,)).fetchone()[0])

    def project(self, job: str, rest: str) -> None:
        with closing(sqlite3.connect(self.state / "launcher.sqlite")) as db, db:
            db.execute("UPDATE active SET rest = ? WHERE job_id = ?", (rest, job))

    def rank(self, job: str, rank: int = 0, attempt: int = 1) -> Path:
        return self.state / "jobs" / job / str(attempt) / str(rank)

    def output(self, job: str, name: str) -> str:
        return (self.state / "jobs" / job / "output" / name).read_text()

    def processes(self, mark: str) -> list[psutil.Process]:
        """Living processes with `mark` in their command line."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if mark in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    await made.start()
    yield made
    await made.kill()
    for process in made.processes(str(tmp_path)):
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


@pytest.fixture
def job() -> Callable[..., Job]:
    """A starting job from changes to the smallest spec."""

    def make(attempt: int = 1, **changes: Any) -> Job:
        return Job(Head("j", State.STARTING, 1, attempt), spec(**changes), "ann", 0.0, events.Resolution(image="host"))

    return make


@pytest.fixture
def plan() -> Callable[..., AttemptPlan]:
    """A job's plan on one machine, without a machine."""

    def make(made: Job, **env: str) -> AttemptPlan:
        ranks = range(len(places(made.spec)))
        return build(
            made,
            folders=Folders("/work", "/out", "/ckpt", "/worker", {rank: f"/report/{rank}" for rank in ranks}),
            interpreter=Interpreter("/image/bin/python", "/image/bin"),
            rendezvous=Rendezvous("127.0.0.1", 29500, tuple(f"127.0.0.1:{29501 + rank}" for rank in ranks), "lo"),
            inherited={"PATH": "/usr/bin", "SECRET_TOKEN": "x", "NATS_PASSWORD": "x", "LC_ALL": "C", **env},
            traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
        )

    return make
