"""A job of real processes gets another size: the old group has its grace, the new one its ranks, and no budget pays."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration

SAVES = (
    "trap 'echo saved >> $TRAINYARD_CHECKPOINT/log; exit 0' TERM;"
    "echo $TRAINYARD_RANK of $TRAINYARD_WORLD_SIZE >> $TRAINYARD_OUTPUT/attempt-$TRAINYARD_ATTEMPT;"
    "while [ ! -e {} ]; do sleep 0.05; done"
)


async def resize(world: Any, job: str, replicas: int, role: str = "worker") -> None:
    while True:
        latest = await world.bus.latest("job", job)
        known = {item.event.kind: item.event for item in latest}
        number = known["resized"].number + 1 if "resized" in known else 1
        wish = events.JobResized(
            job_id=job, number=number, role=role, before=0, replicas=replicas, by="ann", roles={role: replicas}
        )
        try:
            await world.bus.append(wish, after=latest[-1].seq)
            return
        except StaleSequence:
            await asyncio.sleep(0)


async def runs(world: Any, job: str, attempt: int) -> Any:
    async def look() -> Any:
        told = {item.event.kind: item.event for item in await world.bus.latest("job", job)}
        running = told.get("running")
        return running if running is not None and running.attempt == attempt else None

    return await eventually(look)


def ranks(world: Any, job: str, attempt: int) -> list[str]:
    return sorted(world.output(job, f"attempt-{attempt}").split("\n")[:-1])


async def test_it_grows_and_shrinks(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await world.submit(SAVES.format(go), replicas=2, timeouts={"grace": 5})
    await runs(world, job, 1)
    await eventually(lambda: len(ranks(world, job, 1)) == 2)
    await resize(world, job, 4)
    assert len((await runs(world, job, 2)).ranks) == 4
    await eventually(lambda: len(ranks(world, job, 2)) == 4)
    assert (tmp_path / "jobs" / job / "checkpoint" / "log").read_text() == "saved\n" * 2
    await resize(world, job, 1)
    assert len((await runs(world, job, 3)).ranks) == 1
    other = await world.submit("true", resources={"cpu": 3})
    await world.until(other, "succeeded")
    go.touch()
    assert (await world.until(job, "succeeded", "failed")).kind == "succeeded"
    assert ranks(world, job, 2) == [f"{rank} of 4" for rank in range(4)]
    assert ranks(world, job, 3) == ["0 of 1"]
    told = [item.event async for item in world.bus.history("job", job)]
    assert [event.kind for event in told] == [
        "submitted", "resolved", "starting", "running",
        "resized", "restarting", "starting", "running",
        "resized", "restarting", "starting", "running", "succeeded",
    ]  # fmt: skip
    first = next(event for event in told if event.kind == "restarting")
    assert (first.reason, first.budget, first.used) == ("resized", "none", {})


async def test_growth_waits_for_room_and_the_old_group_goes_on(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    holder = await world.submit("sleep 60", resources={"cpu": 2}, timeouts={"grace": 1})
    job = await world.submit(SAVES.format(go), replicas=2, timeouts={"grace": 5})
    await runs(world, holder, 1)
    await runs(world, job, 1)
    await resize(world, job, 4)
    pending = await world.until(job, "pending")
    assert pending.message == (
        "it goes on with 2 × worker until there is room for 4 × worker, which asks for 4 cores and 2.0 GiB"
    )
    await asyncio.sleep(0.6)
    assert (await world.kinds(job))[-2:] == ["resized", "pending"]
    await world.cancel(holder)
    assert len((await runs(world, job, 2)).ranks) == 4
    go.touch()
    await world.until(job, "succeeded")


async def test_what_can_never_be_had_is_taken_back(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await world.submit(SAVES.format(go), replicas=2, timeouts={"grace": 5})
    await runs(world, job, 1)
    await resize(world, job, 5)
    back = await world.until(job, "resized", within=10)
    await eventually(lambda: _by_launcher(world, job))
    back = (await world.bus.latest("job", job))[-1].event
    assert (back.replicas, back.roles) == (2, {"worker": 2})
    assert back.message == "it stays at 2 × worker: all processes together ask for 5 cores (there are 4)"
    go.touch()
    await world.until(job, "succeeded")
    assert (await world.kinds(job)).count("starting") == 1


async def _by_launcher(world: Any, job: str) -> bool:
    return bool((await world.bus.latest("job", job))[-1].event.by == "launcher")


async def test_a_waiting_job_is_planned_anew(world: Any) -> None:
    holder = await world.submit("sleep 60", resources={"cpu": 3}, timeouts={"grace": 1})
    await world.until(holder, "running")
    job = await world.submit("true", replicas=2)
    await world.until(job, "queued")
    await resize(world, job, 1)
    done = await world.until(job, "succeeded")
    assert done.attempt == 1
    assert len((await runs(world, job, 1)).ranks) == 1
    more = await world.submit("true", replicas=2)
    await world.until(more, "queued")
    await resize(world, more, 9)
    await eventually(lambda: _by_launcher(world, more))
    await world.cancel(holder)
    await world.until(more, "succeeded")


async def test_a_suspended_job_is_resumed_at_the_new_size(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = await world.submit(SAVES.format(go), replicas=2, timeouts={"grace": 5})
    await runs(world, job, 1)
    latest = await world.bus.latest("job", job)
    await world.bus.append(events.JobSuspending(job_id=job, by="ann"), after=latest[-1].seq)
    await world.until(job, "suspended")
    await resize(world, job, 3)
    await world.kill()
    await world.start()
    latest = await world.bus.latest("job", job)
    await world.bus.append(events.JobQueued(job_id=job, attempt=2, message="m"), after=latest[-1].seq)
    assert len((await runs(world, job, 2)).ranks) == 3
    go.touch()
    await world.until(job, "succeeded")


async def test_a_launcher_that_starts_meanwhile_goes_on_with_it(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    deaf = SAVES.format(go).replace("trap 'echo", "trap '' TERM; : 'echo")
    job = await world.submit(deaf, replicas=2, timeouts={"grace": 2})
    await runs(world, job, 1)
    await resize(world, job, 3)
    await asyncio.sleep(0.5)
    await world.kill()
    await world.start()
    assert len((await runs(world, job, 2)).ranks) == 3
    await world.kill()
    await world.start()
    go.touch()
    await world.until(job, "succeeded")
    assert (await world.kinds(job)).count("restarting") == 1


async def test_what_can_never_be_had_is_taken_back_while_the_image_is_built(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else would ever start: nobody passes the head of the queue."""
    images, built = world.reconciler._images, asyncio.Event()
    known = images.interpreter

    async def build(image: str) -> None:
        del image
        await built.wait()

    async def fraction(image: str) -> None:
        del image

    monkeypatch.setattr(images, "interpreter", lambda image: known(image) if built.is_set() else None)
    monkeypatch.setattr(images, "build", build)
    monkeypatch.setattr(images, "fraction", fraction)
    job = await world.submit("true", replicas=2)
    await world.until(job, "queued")
    await resize(world, job, 9)
    await asyncio.sleep(0.2)
    built.set()
    await world.until(job, "succeeded", within=10)
    assert (await world.kinds(job)).count("resized") == 2


async def test_two_that_grow_do_not_wait_for_each_other_when_they_fail(world: Any, tmp_path: Path) -> None:
    go = tmp_path / "go"
    fails = f"[ $TRAINYARD_ATTEMPT = 1 ] || exit 0; while [ ! -e {go} ]; do sleep 0.05; done; exit 1"
    jobs = [await world.submit(fails, replicas=2, retries={"user": 1}, timeouts={"grace": 1}) for _ in range(2)]
    for job in jobs:
        await runs(world, job, 1)
    for job in jobs:
        await resize(world, job, 4)
        await world.until(job, "pending")
    go.touch()
    for job in jobs:
        await world.until(job, "succeeded")
