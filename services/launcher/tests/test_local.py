"""Real processes under real supervisors: ends, restarts, cancels, time-outs, progress."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

import pytest

from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration


async def test_a_job_runs_to_its_end(world: Any) -> None:
    job = await world.submit("echo hello; echo $TRAINYARD_RANK > $TRAINYARD_OUTPUT/rank-$TRAINYARD_RANK", processes=2)
    event = await world.until(job, "succeeded")
    assert await world.kinds(job) == ["submitted", "resolved", "starting", "running", "succeeded"]
    assert (world.output(job, "rank-0"), world.output(job, "rank-1")) == ("0\n", "1\n")
    assert [(item.rank, item.exit_code) for item in event.endings] == [(0, 0), (1, 0)]
    assert event.endings[0].max_rss > 100_000
    assert LogStore(world.state / "logs").last_lines(job, 1, 0, 5) == ("hello",)


@pytest.mark.parametrize(
    ("command", "reason", "says"),
    [
        ("echo why >&2; exit 3", EndReason.ERROR, "rank 0 exited with code 3; its last line: why"),
        ("kill -SEGV $$", EndReason.SIGNAL, "SIGSEGV"),
        ("kill -9 $$", EndReason.SIGNAL, "SIGKILL"),
    ],
)
async def test_failures_have_a_reason(world: Any, command: str, reason: EndReason, says: str) -> None:
    event = await world.until(await world.submit(command), "failed")
    assert event.reason is reason
    assert says in event.message


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"command": ["/no/such/program"]}, "/no/such/program cannot be started: No such file or directory"),
        ({"command": ["/etc/passwd"]}, "Permission denied"),
        ({"workdir": "/no/such/folder"}, "the working folder /no/such/folder is not there"),
    ],
)
async def test_what_cannot_be_started_is_told_and_not_repeated(world: Any, changes: dict[str, Any], says: str) -> None:
    from trainyard.common import ids  # noqa: PLC0415
    from trainyard.common.contract import events  # noqa: PLC0415
    from trainyard.common.testing.builders import spec  # noqa: PLC0415

    job, made = ids.new_job_id(), spec(**{"retries": {"user": 3}, **changes})
    seq = await world.bus.append(events.JobSubmitted(job_id=job, spec=made), after=0)
    resolution = events.Resolution(image="host")
    await world.bus.append(events.JobResolved(job_id=job, spec=made, resolution=resolution), after=seq)
    event = await world.until(job, "failed")
    assert event.reason is EndReason.START
    assert says in event.message
    assert "restarting" not in await world.kinds(job)


async def test_one_failing_rank_ends_the_others(world: Any) -> None:
    mark = f"1{uuid.uuid4().int % 10**8}"
    job = await world.submit(f"[ $TRAINYARD_RANK = 1 ] && exit 7; sleep {mark}", processes=3, timeouts={"grace": 2})
    event = await world.until(job, "failed")
    assert "rank 1 exited with code 7" in event.message
    assert not world.processes(f"sleep {mark}")


async def test_retries_go_on_in_a_new_attempt_with_the_same_output(world: Any) -> None:
    job = await world.submit(
        "echo $TRAINYARD_ATTEMPT >> $TRAINYARD_OUTPUT/tries; [ $TRAINYARD_ATTEMPT = 2 ]", retries={"user": 1}
    )
    event = await world.until(job, "succeeded")
    assert event.attempt == 2
    assert world.output(job, "tries") == "1\n2\n"
    kinds = await world.kinds(job)
    assert kinds == ["submitted", "resolved", "starting", "running", "restarting", "starting", "running", "succeeded"]


async def test_budgets_end(world: Any) -> None:
    job = await world.submit("exit 1", retries={"user": 1})
    event = await world.until(job, "failed")
    assert event.attempt == 2
    assert (await world.kinds(job)).count("restarting") == 1


async def test_cancel_ends_the_whole_tree(world: Any) -> None:
    """Even a grandchild that made a session of its own and ignores SIGTERM."""
    mark = f"1{uuid.uuid4().int % 10**8}"
    command = f"trap '' TERM; (trap '' TERM; exec setsid sh -c 'trap \"\" TERM; sleep {mark}; :') & sleep {mark}; wait"
    job = await world.submit(command, timeouts={"grace": 0.5})
    await world.until(job, "running")
    await eventually(lambda: len(world.processes(f"sleep {mark}")) >= 2)
    await world.cancel(job)
    event = await world.until(job, "cancelled")
    await eventually(lambda: not world.processes(mark))
    assert event.endings[0].signal == 9


async def test_a_polite_job_has_its_grace(world: Any) -> None:
    job = await world.submit(
        "trap 'echo saved > $TRAINYARD_OUTPUT/checkpoint; exit 0' TERM; while :; do sleep 0.1; done",
        timeouts={"grace": 20},
    )
    await world.until(job, "running")
    await asyncio.sleep(0.3)
    await world.cancel(job)
    await world.until(job, "cancelled")
    assert world.output(job, "checkpoint") == "saved\n"


async def test_cancel_before_the_start(world: Any) -> None:
    blocker = await world.submit("sleep 30", resources={"cpu": 4})
    await world.until(blocker, "running")
    waiting = await world.submit("true", resources={"cpu": 4})
    queued = await world.until(waiting, "queued")
    assert "waits for 4 cores" in queued.message
    await world.cancel(waiting)
    await world.until(waiting, "cancelled")
    after = await world.submit("true", resources={"cpu": 4})
    await world.cancel(blocker)
    await world.until(after, "succeeded")


async def test_a_job_larger_than_the_machine_fails_at_once(world: Any) -> None:
    event = await world.until(await world.submit("true", processes=64), "failed")
    assert event.reason is EndReason.UNSCHEDULABLE
    assert "64 cores (there are 4)" in event.message


@pytest.mark.parametrize(
    ("timeouts", "reason"), [({"active": 0.5}, EndReason.DEADLINE), ({"idle": 0.5}, EndReason.IDLE)]
)
async def test_time_outs(world: Any, timeouts: dict[str, float], reason: EndReason) -> None:
    event = await world.until(await world.submit("sleep 60", timeouts={**timeouts, "grace": 1}), "failed")
    assert event.reason is reason


async def test_a_job_that_never_starts_fails_in_time(world: Any) -> None:
    blocker = await world.submit("sleep 30", resources={"cpu": 4})
    await world.until(blocker, "running")
    event = await world.until(await world.submit("true", timeouts={"pending": 0.5}), "failed")
    assert event.reason is EndReason.PENDING_DEADLINE


async def test_progress_is_told_and_the_last_report_is_never_lost(world: Any) -> None:
    line = '{"time": 1.0, "epoch": %d, "epochs": 9, "metrics": {"loss": 0.5}}\\n'
    loop = f"for i in 1 2 3 4 5 6 7 8 9; do printf '{line}' $i >> $TRAINYARD_REPORT; sleep 0.2; done"
    job = await world.submit(f"{loop}; echo junk >> $TRAINYARD_REPORT")
    await world.until(job, "succeeded")
    told = [item.event async for item in world.bus.history("job", job) if item.event.kind == "progress"]
    assert 2 <= len(told) <= 5
    assert told[-1].epoch == 9
    assert told[-1].metrics == {"loss": 0.5}
    assert [event.number for event in told] == sorted({event.number for event in told})


async def test_what_a_job_leaves_behind_does_not_hold_it(world: Any) -> None:
    mark = f"1{uuid.uuid4().int % 10**8}"
    job = await world.submit(f"setsid sleep {mark} & echo started")
    await world.until(job, "succeeded", within=15)
    await eventually(lambda: not world.processes(f"sleep {mark}"))


async def test_200_quick_jobs(world: Any) -> None:
    jobs = [await world.submit("true", resources={"cpu": 0.2}) for _ in range(200)]
    for job in jobs:
        await world.until(job, "succeeded", within=100)
    assert await world.kinds(jobs[0]) == ["submitted", "resolved", "starting", "running", "succeeded"]
