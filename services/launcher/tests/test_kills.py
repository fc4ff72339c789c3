"""Whatever is killed, whenever: no rank is started twice, no end is lost, nothing runs on unwatched."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import uuid
from typing import Any

import pytest

from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration


async def test_ranks_live_through_the_launchers_death(world: Any) -> None:
    job = await world.submit("echo $$ >> $TRAINYARD_OUTPUT/pids; sleep 1.5; echo done >> $TRAINYARD_OUTPUT/pids")
    await world.until(job, "running")
    await world.kill()
    await world.start()
    await world.until(job, "succeeded")
    assert len(world.output(job, "pids").splitlines()) == 2
    assert (await world.kinds(job)).count("starting") == 1


async def test_an_end_while_no_launcher_is_there_is_found(world: Any) -> None:
    job = await world.submit("sleep 0.5; exit 5")
    await world.until(job, "running")
    await world.kill()
    await eventually((world.rank(job) / "exit.json").exists)
    await world.start()
    event = await world.until(job, "failed")
    assert "code 5" in event.message


async def test_the_launcher_may_die_at_any_line(world: Any) -> None:
    """Killed at random moments of many short jobs; every job still runs exactly once and ends once."""
    jobs = [
        await world.submit("echo x >> $TRAINYARD_OUTPUT/ran; sleep 0.05", resources={"cpu": 0.5}) for _ in range(24)
    ]
    for pause in (0.03, 0.08, 0.15, 0.02, 0.3, 0.11, 0.06):
        await asyncio.sleep(pause)
        await world.kill()
        await world.start()
    for job in jobs:
        await world.until(job, "succeeded", within=60)
        assert world.output(job, "ran") == "x\n"
        kinds = [kind for kind in await world.kinds(job) if kind != "queued"]
        assert kinds == ["submitted", "resolved", "starting", "running", "succeeded"]


async def test_the_projection_may_be_deleted(world: Any) -> None:
    running = await world.submit("sleep 1; echo ran >> $TRAINYARD_OUTPUT/ran")
    await world.until(running, "running")
    done = await world.submit("true")
    await world.until(done, "succeeded")
    await world.kill()
    for file in world.state.glob("launcher.sqlite*"):
        file.unlink()
    await world.start()
    await world.until(running, "succeeded")
    assert world.output(running, "ran") == "ran\n"
    assert (await world.kinds(done)).count("starting") == 1


async def test_a_killed_supervisor_takes_its_rank_along_and_the_job_goes_on(world: Any) -> None:
    mark = f"1{uuid.uuid4().int % 10**8}"
    job = await world.submit(f"[ $TRAINYARD_ATTEMPT = 2 ] && exit 0; setsid sleep {mark} & sleep {mark}")
    await world.until(job, "running")
    await eventually(lambda: len(world.processes(f"sleep {mark}")) >= 2)
    who = json.loads((world.rank(job) / "pid.json").read_text())
    os.kill(who["supervisor"], signal.SIGKILL)
    event = await world.until(job, "succeeded")
    assert event.attempt == 2
    assert not world.processes(f"sleep {mark}")
    restarts = [item.event async for item in world.bus.history("job", job) if item.event.kind == "restarting"]
    assert [(event.reason, event.budget) for event in restarts] == [("lost", "infrastructure")]


async def test_a_cancel_that_nobody_was_there_to_see(world: Any) -> None:
    mark = f"1{uuid.uuid4().int % 10**8}"
    job = await world.submit(f"sleep {mark}", timeouts={"grace": 1})
    await world.until(job, "running")
    await world.kill()
    await world.cancel(job)
    await world.start()
    await world.until(job, "cancelled")
    assert not world.processes(f"sleep {mark}")


async def test_two_launchers_start_a_rank_once(world: Any) -> None:
    """A second launcher on the same log and folder (a mistake of an operator) starts nothing twice."""
    from trainyard.launcher.adapters.local.backend import LocalBackend  # noqa: PLC0415
    from trainyard.launcher.core.plan import Interpreter  # noqa: PLC0415

    job = await world.submit("echo x >> $TRAINYARD_OUTPUT/ran; sleep 1")
    await world.until(job, "starting", "running")
    shepherd = world.reconciler._shepherds[job]
    other = LocalBackend(world.state, "node")
    await asyncio.gather(*(other.start(shepherd.job, Interpreter(None, None)) for _ in range(4)))
    await world.until(job, "succeeded")
    assert world.output(job, "ran") == "x\n"


async def test_jobs_do_not_touch_each_other(world: Any) -> None:
    """Two jobs of the same name and labels: cancelling one leaves the other alone."""
    one = await world.submit("sleep 1.2", name="same", labels={"a": "b"})
    two = await world.submit("sleep 60", name="same", labels={"a": "b"}, timeouts={"grace": 1})
    await world.until(one, "running")
    await world.until(two, "running")
    await world.cancel(two)
    await world.until(two, "cancelled")
    await world.until(one, "succeeded")
