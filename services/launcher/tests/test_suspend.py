"""A suspended job ends its processes, frees what it holds, and goes on as another attempt when it is resumed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.logs.reader import LogStore

pytestmark = pytest.mark.integration
WAITS = "echo attempt $TRAINYARD_ATTEMPT; while [ ! -e {} ]; do sleep 0.05; done"


async def tell(world: Any, job: str, kind: type[events.JobEvent], **fields: Any) -> None:
    while True:
        latest = await world.bus.latest("job", job)
        try:
            await world.bus.append(kind(job_id=job, **fields), after=latest[-1].seq)
            return
        except StaleSequence:
            await asyncio.sleep(0)


async def suspend(world: Any, job: str, attempt: int = 1) -> Any:
    await tell(world, job, events.JobSuspending, by="ann", attempt=attempt)
    return await world.until(job, "suspended")


async def test_what_it_held_is_free_and_it_goes_on_later(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await world.submit(WAITS.format(go), resources={"cpu": 4}, timeouts={"grace": 1})
    await world.until(job, "running")
    other = await world.submit("true", resources={"cpu": 4})
    await world.until(other, "queued")
    suspended = await suspend(world, job)
    assert [ending.signal for ending in suspended.endings] == [15]
    await world.until(other, "succeeded")
    go.touch()
    await tell(world, job, events.JobQueued, attempt=2, message="resumed by ann")
    assert (await world.until(job, "succeeded")).attempt == 2
    assert LogStore(world.state / "logs").last_lines(job, 2, 0, 1) == ("attempt 2",)
    assert await world.kinds(job) == [
        "submitted", "resolved", "starting", "running", "suspending", "suspended",
        "queued", "starting", "running", "succeeded",
    ]  # fmt: skip


async def test_a_waiting_job_is_suspended_at_once(world: Any) -> None:
    holder = await world.submit("sleep 60", resources={"cpu": 4}, timeouts={"grace": 1})
    await world.until(holder, "running")
    job = await world.submit("true", resources={"cpu": 4})
    await world.until(job, "queued")
    await suspend(world, job)
    await world.cancel(holder)
    await world.until(holder, "cancelled")
    assert (await world.kinds(job))[-1] == "suspended"
    await tell(world, job, events.JobQueued, attempt=1, message="resumed")
    await world.until(job, "succeeded")


async def test_a_launcher_that_starts_meanwhile_finishes_the_suspension(world: Any) -> None:
    job = await world.submit("trap '' TERM; sleep 60", timeouts={"grace": 1})
    await world.until(job, "running")
    await tell(world, job, events.JobSuspending, by="ann", attempt=1)
    await world.kill()
    await world.start()
    await world.until(job, "suspended")
    await world.kill()
    await world.start()
    await tell(world, job, events.JobQueued, attempt=2, message="resumed")
    await world.until(job, "running")
    await world.cancel(job)
    await world.until(job, "cancelled")


async def test_a_suspended_job_can_be_cancelled(world: Any) -> None:
    job = await world.submit("sleep 60", timeouts={"grace": 1})
    await world.until(job, "running")
    await suspend(world, job)
    await world.cancel(job)
    await world.until(job, "cancelled")


async def test_the_time_for_which_it_was_suspended_does_not_count(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await world.submit(WAITS.format(go), timeouts={"grace": 1, "active": 3})
    await world.until(job, "running")
    await suspend(world, job)
    await asyncio.sleep(3.2)
    go.touch()
    await tell(world, job, events.JobQueued, attempt=2, message="resumed")
    await world.until(job, "succeeded")
