"""Real processes and made-up accelerators: who sees which, and that a restart of the launcher gives none away twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from trainyard.common.contract import events
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.launcher.core.devices import Device

pytestmark = pytest.mark.integration
ONE = {"resources": {"cpu": 0.1, "accelerators": 1}}
SAYS = "echo sees ${CUDA_VISIBLE_DEVICES-everything}."


@pytest_asyncio.fixture
async def gpus(world: Any) -> AsyncIterator[Any]:
    await world.kill()
    world.devices = [
        Device(f"GPU-{number}", "gpu", "Tesla T4", "nvidia.com/gpu", "CUDA_VISIBLE_DEVICES") for number in range(2)
    ]
    await world.start()
    yield world


def seen(world: Any, job: str, rank: int = 0) -> str:
    return str(LogStore(world.state / "logs").last_lines(job, 1, rank, 1)[0])


async def test_each_rank_sees_its_own_and_a_job_without_sees_none(gpus: Any) -> None:
    two = await gpus.submit(SAYS, processes=2, **ONE)
    none = await gpus.submit(SAYS)
    await gpus.until(two, "succeeded")
    await gpus.until(none, "succeeded")
    assert [seen(gpus, two, rank) for rank in (0, 1)] == ["sees GPU-0.", "sees GPU-1."]
    assert seen(gpus, none) == "sees ."
    told = [item.event async for item in gpus.bus.history("job", two)]
    starting = next(event for event in told if isinstance(event, events.JobStarting))
    running = next(event for event in told if isinstance(event, events.JobRunning))
    assert starting.devices == (("GPU-0",), ("GPU-1",))
    assert [rank.devices for rank in running.ranks] == [("GPU-0",), ("GPU-1",)]


async def test_where_no_accelerator_is_known_the_variable_is_left_alone(world: Any, tmp_path: Path) -> None:
    job = await world.submit(SAYS)
    await world.until(job, "succeeded")
    assert seen(world, job) == "sees everything."


async def test_a_restarted_launcher_knows_what_is_held(gpus: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    first = await gpus.submit(f"{SAYS}; while [ ! -e {go} ]; do sleep 0.05; done", **ONE)
    await gpus.until(first, "running")
    await gpus.kill()
    await gpus.start()
    second = await gpus.submit(f"{SAYS}; while [ ! -e {go} ]; do sleep 0.05; done", **ONE)
    await gpus.until(second, "running")
    third = await gpus.submit(SAYS, **ONE)
    queued = await gpus.until(third, "queued")
    assert "accelerators: 0 of 2" in queued.message
    go.touch()
    for job in (first, second, third):
        await gpus.until(job, "succeeded")
    assert {seen(gpus, first), seen(gpus, second)} == {"sees GPU-0.", "sees GPU-1."}


async def test_an_attempt_keeps_what_the_job_was_given(gpus: Any) -> None:
    job = await gpus.submit(f"{SAYS}; test $TRAINYARD_ATTEMPT = 2", retries={"user": 1}, **ONE)
    await gpus.until(job, "succeeded")
    assert LogStore(gpus.state / "logs").last_lines(job, 2, 0, 1) == ("sees GPU-0.",)


async def test_more_than_there_are_is_refused_at_once(gpus: Any) -> None:
    job = await gpus.submit("true", processes=3, **ONE)
    event = await gpus.until(job, "failed")
    assert event.reason is EndReason.UNSCHEDULABLE
    assert "3 accelerators (there are 2 × Tesla T4)" in event.message


async def test_another_attempt_takes_accelerators_that_are_there(gpus: Any) -> None:
    """One that has fallen off the bus would fail every attempt that there is."""
    job = await gpus.submit(f"{SAYS}; test $TRAINYARD_ATTEMPT = 2", retries={"user": 1}, **ONE)
    await gpus.until(job, "restarting")
    gpus.devices = gpus.devices[1:]
    await gpus.until(job, "succeeded")
    assert LogStore(gpus.state / "logs").last_lines(job, 2, 0, 1) == ("sees GPU-1.",)


async def test_one_that_is_gone_when_the_launcher_starts_again_is_replaced(gpus: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    command = f"{SAYS}; while [ ! -e {go} ]; do sleep 0.05; done; test $TRAINYARD_ATTEMPT = 2"
    job = await gpus.submit(command, retries={"user": 1}, **ONE)
    await gpus.until(job, "running")
    await gpus.kill()
    gpus.devices = gpus.devices[1:]
    await gpus.start()
    go.touch()
    await gpus.until(job, "succeeded")
    assert LogStore(gpus.state / "logs").last_lines(job, 2, 0, 1) == ("sees GPU-1.",)


async def test_too_few_that_are_left_end_the_job_in_words(gpus: Any) -> None:
    job = await gpus.submit("exit 1", processes=2, retries={"user": 5}, **ONE)
    await gpus.until(job, "restarting")
    gpus.devices = gpus.devices[1:]
    event = await gpus.until(job, "failed")
    assert (event.reason, event.attempt) == (EndReason.UNSCHEDULABLE, 2)
    assert "2 accelerators (there are 1 × Tesla T4)" in event.message


async def test_what_others_hold_is_waited_for(gpus: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await gpus.submit(f"{SAYS}; test $TRAINYARD_ATTEMPT = 2", retries={"user": 1}, **ONE)
    other = await gpus.submit(f"while [ ! -e {go} ]; do sleep 0.05; done", **ONE)
    await gpus.until(job, "restarting")
    await gpus.until(other, "running")
    gpus.devices = gpus.devices[1:]  # the other one's
    await asyncio.sleep(2.0)
    assert (await gpus.kinds(job))[-1] == "restarting"
    go.touch()
    await gpus.until(job, "succeeded")
    assert LogStore(gpus.state / "logs").last_lines(job, 2, 0, 1) == ("sees GPU-1.",)
