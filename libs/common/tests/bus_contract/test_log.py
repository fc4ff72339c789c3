"""The event log: optimistic, idempotent, in order."""

from __future__ import annotations

import asyncio

import pytest

from trainyard.common import ids
from trainyard.common.bus.advance import advance, read_head
from trainyard.common.bus.context import traceparent
from trainyard.common.bus.port import Batch, Bus
from trainyard.common.contract import subjects
from trainyard.common.contract.events import (
    JobCancelling,
    JobProgress,
    JobResolved,
    JobRunning,
    JobStarting,
    Resolution,
)
from trainyard.common.errors import InvalidInput, NotFound, StaleSequence
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec, submitted


async def started(bus: Bus, job_id: str) -> int:
    seq = await bus.append(submitted(job_id), after=0)
    seq = await bus.append(JobResolved(job_id=job_id, spec=spec(), resolution=Resolution(image="host")), after=seq)
    return await bus.append(JobStarting(job_id=job_id, backend="local", node="n"), after=seq)


async def test_sequences_grow_and_history_is_in_order(bus: Bus) -> None:
    job = ids.new_job_id()
    last = await started(bus, job)
    history = [item async for item in bus.history("job", job)]
    assert [item.event.kind for item in history] == ["submitted", "resolved", "starting"]
    assert [item.seq for item in history] == sorted(item.seq for item in history)
    assert history[-1].seq == last
    assert history[0].source == "/trainyard/test"
    assert history[0].time.endswith("Z")
    assert [item.seq async for item in bus.history("job", job, after=history[1].seq)] == [last]


async def test_a_writer_that_has_not_seen_the_last_event_is_refused(bus: Bus) -> None:
    event = submitted()
    seq = await bus.append(event, after=0)
    await bus.append(JobCancelling(job_id=event.job_id, by="ann"), after=seq)
    with pytest.raises(StaleSequence):
        await bus.append(JobRunning(job_id=event.job_id), after=seq)
    assert [item.event.kind async for item in bus.history("job", event.job_id)] == ["submitted", "cancelling"]


async def test_of_two_writers_exactly_one_wins(bus: Bus) -> None:
    job = ids.new_job_id()
    seq = await started(bus, job)
    outcomes = await asyncio.gather(
        *(bus.append(JobRunning(job_id=job, attempt=n), after=seq) for n in range(1, 9)), return_exceptions=True
    )
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, StaleSequence) for outcome in outcomes) == 7


async def test_the_same_event_again_is_stored_once(bus: Bus) -> None:
    event = submitted()
    first = await bus.append(event, after=0)
    assert await bus.append(event, after=0) == first
    second = await bus.append(JobCancelling(job_id=event.job_id, by="ann"), after=first)
    assert await bus.append(JobCancelling(job_id=event.job_id, by="ann"), after=first) == second
    assert len([item async for item in bus.history("job", event.job_id)]) == 2


async def test_latest_is_the_last_of_each_kind(bus: Bus) -> None:
    job = ids.new_job_id()
    seq = await started(bus, job)
    seq = await bus.append(JobRunning(job_id=job), after=seq)
    for number in range(1, 6):
        seq = await bus.append(JobProgress(job_id=job, number=number), after=seq)
    latest = await bus.latest("job", job)
    assert [item.event.kind for item in latest] == ["submitted", "resolved", "starting", "running", "progress"]
    assert latest[-1].event.number == 5
    assert await bus.latest("job", ids.new_job_id()) == []


async def test_long_histories_come_whole(bus: Bus) -> None:
    job = ids.new_job_id()
    seq = await bus.append(submitted(job), after=0)
    for number in range(1, 301):
        seq = await bus.append(JobProgress(job_id=job, number=number), after=seq)
    history = [item async for item in bus.history("job", job)]
    assert [item.event.number for item in history[1:]] == list(range(1, 301))


async def test_an_event_that_is_too_large_is_refused_in_words(bus: Bus) -> None:
    big = submitted(env={f"V{n}": "x" * 30_000 for n in range(40)})
    with pytest.raises(InvalidInput, match="bytes, at most"):
        await bus.append(big, after=0)


async def test_advance_decides_again_after_a_lost_race(bus: Bus) -> None:
    job = ids.new_job_id()
    seq = await bus.append(submitted(job), after=0)
    raced = False

    async def race() -> None:
        await bus.append(JobResolved(job_id=job, spec=spec(), resolution=Resolution(image="host")), after=seq)

    class Racing:
        latest = staticmethod(bus.latest)

        @staticmethod
        async def append(event: JobCancelling, *, after: int) -> int:
            nonlocal raced
            if not raced:
                raced = True
                await race()
            return await bus.append(event, after=after)

    head, event = await advance(Racing, job, lambda head, _: JobCancelling(job_id=head.job_id, by="ann"))  # type: ignore[arg-type]
    assert isinstance(event, JobCancelling)
    assert head.state is State.CANCELLING
    with pytest.raises(NotFound):
        await read_head(bus, ids.new_job_id())
    assert (await read_head(bus, job))[0] == Head(job, State.CANCELLING, head.seq, 0, head.path)


async def test_followers_see_everything_from_their_cursor_on(bus: Bus) -> None:
    job = ids.new_job_id()
    first = await bus.append(submitted(job), after=0)
    seen: list[Batch] = []
    follower = bus.follow(after=first)
    seq = await bus.append(JobCancelling(job_id=job, by="ann"), after=first)
    async with asyncio.timeout(10):
        async for batch in follower:
            seen.append(batch)
            if batch.last >= seq:
                break
    events = [item for batch in seen for item in batch.events if item.event.entity_id() == job]
    assert [item.seq for item in events] == [seq]
    assert seen[-1].caught_up


async def test_followers_filter_and_say_when_they_are_at_the_end(bus: Bus) -> None:
    job = ids.new_job_id()
    start = await bus.append(submitted(job), after=0)
    await bus.append(JobCancelling(job_id=job, by="ann"), after=start)
    async with asyncio.timeout(10):
        async for batch in bus.follow(after=start - 1, filters=(subjects.of_kind("job", "cancelling"),)):
            assert all(item.event.kind == "cancelling" for item in batch.events)
            if batch.caught_up:
                break


async def test_a_trace_travels_with_the_event(bus: Bus) -> None:
    header = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    token = traceparent.set(header)
    event = submitted()
    try:
        await bus.append(event, after=0)
    finally:
        traceparent.reset(token)
    assert (await bus.latest("job", event.job_id))[0].traceparent == header


async def test_the_log_has_a_name_that_stays(bus: Bus) -> None:
    assert await bus.identity() == await bus.identity() != ""
