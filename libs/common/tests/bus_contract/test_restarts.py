"""A nats-server that is killed with SIGKILL and comes back on its store loses and doubles nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

from trainyard.common import ids
from trainyard.common.bus import streams, working
from trainyard.common.bus.nats import NatsBus
from trainyard.common.bus.port import Subscription
from trainyard.common.bus.pull import Lost
from trainyard.common.contract import subjects
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import JobProgress
from trainyard.common.errors import TrainyardError, Unauthorized, Unavailable
from trainyard.common.loopback import free_port
from trainyard.common.testing.builders import submitted
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.nats_server import NatsServer

pytestmark = pytest.mark.integration
COUNT = 400


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    made = NatsServer(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest_asyncio.fixture
async def bus(server: NatsServer) -> AsyncIterator[NatsBus]:
    made = await NatsBus.connect(server.url, source="/trainyard/test")
    yield made
    await made.close()


async def bounce(server: NatsServer, times: int = 2) -> None:
    for _ in range(times):
        await asyncio.sleep(0.15)
        await asyncio.to_thread(server.kill)
        await asyncio.sleep(0.1)
        await asyncio.to_thread(server.start)


async def append_many(bus: NatsBus, job: str) -> None:
    seq = await bus.append(submitted(job), after=0)
    for number in range(1, COUNT + 1):
        seq = await bus.append(JobProgress(job_id=job, number=number), after=seq)


async def test_appends_and_a_follower_through_kills(server: NatsServer, bus: NatsBus) -> None:
    job = ids.new_job_id()
    seen: list[int] = []

    async def follow() -> None:
        async for batch in bus.follow():
            seen.extend(item.event.number for item in batch.events if item.event.kind == "progress")
            if len(seen) >= COUNT:
                return

    async with asyncio.timeout(60):
        await asyncio.gather(append_many(bus, job), follow(), bounce(server))
    assert seen == list(range(1, COUNT + 1))
    stored = [item.event.number async for item in bus.history("job", job) if item.event.kind == "progress"]
    assert stored == seen


async def test_work_goes_on_through_kills(server: NatsServer, bus: NatsBus) -> None:
    handled: dict[str, int] = {}
    jobs = [ids.new_job_id() for _ in range(COUNT)]

    async def handler(recorded: Recorded[Any]) -> None:
        handled[recorded.event.job_id] = handled.get(recorded.event.job_id, 0) + 1

    filters = (subjects.of_kind("job", "submitted"),)
    running = await bus.consume(Subscription("through-kills", filters, ack_wait=2), handler)

    async def submit() -> None:
        for job in jobs:
            await bus.append(submitted(job), after=0)

    async with asyncio.timeout(60):
        await asyncio.gather(submit(), bounce(server))
        await eventually(lambda: len(handled) == COUNT, within=30)
    await running.stop()
    assert set(handled) == set(jobs)


async def test_the_stored_position_is_exact_after_a_restart(server: NatsServer, bus: NatsBus) -> None:
    for _ in range(20):
        await bus.append(submitted(), after=0)
    async for batch in bus.follow():
        if batch.caught_up:
            break
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    seq = await bus.append(submitted(), after=0)
    async with asyncio.timeout(20):
        async for after in bus.follow(after=batch.last):
            if after.events:
                assert [item.seq for item in after.events] == [seq]
                return


async def test_a_slow_handler_keeps_its_message(bus: NatsBus) -> None:
    event, calls = submitted(), 0

    async def slow(_: Recorded[Any]) -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(2.5)

    running = await bus.consume(Subscription("slow", (subjects.of_kind("job", "submitted"),), ack_wait=1.0), slow)
    await bus.append(event, after=0)
    await asyncio.sleep(3.0)
    await running.stop()
    assert calls == 1


async def test_a_drifted_durable_is_mended_in_place(bus: NatsBus) -> None:
    client = bus._client
    old = Subscription("drifting", (subjects.of_kind("job", "submitted"),), ack_wait=5)
    new = Subscription(
        "drifting", (subjects.of_kind("job", "submitted"), subjects.of_kind("job", "failed")), ack_wait=9
    )
    await working.ensure(client, old)
    first = await client.jetstream().consumer_info(subjects.EVENTS_STREAM, "drifting")
    await working.ensure(client, new)
    second = await client.jetstream().consumer_info(subjects.EVENTS_STREAM, "drifting")
    assert second.config.ack_wait == 9
    assert set(second.config.filter_subjects or []) == {*new.filters, subjects.replay("drifting")}
    assert second.created == first.created


async def test_a_durable_that_cannot_be_updated_goes_on_behind_what_it_acked(bus: NatsBus) -> None:
    wanted = Subscription("foreign", (subjects.of_kind("job", "submitted"),))
    js = bus._client.jetstream()
    first = submitted()
    await bus.append(first, after=0)
    unlike = ConsumerConfig(durable_name="foreign", ack_policy=AckPolicy.NONE, filter_subjects=list(wanted.filters))
    await js.add_consumer(subjects.EVENTS_STREAM, unlike)
    seen: list[str] = []

    async def handler(recorded: Recorded[Any]) -> None:
        seen.append(recorded.event.job_id)

    running = await bus.consume(wanted, handler)
    await eventually(lambda: seen == [first.job_id])
    await running.stop()


async def test_a_drifted_stream_is_mended_and_an_impossible_one_named(server: NatsServer, bus: NatsBus) -> None:
    js = bus._client.jetstream()
    await js.update_stream(StreamConfig(name=subjects.TELEMETRY_STREAM, subjects=["other.>"], duplicate_window=10))
    await streams.ensure(bus._client)
    info = await js.stream_info(subjects.TELEMETRY_STREAM)
    assert info.config.subjects == list(subjects.TELEMETRY_SUBJECTS)
    await js.delete_stream(subjects.TELEMETRY_STREAM)
    wanted = list(subjects.TELEMETRY_SUBJECTS)
    await js.add_stream(StreamConfig(name=subjects.TELEMETRY_STREAM, subjects=wanted, storage=StorageType.MEMORY))
    with pytest.raises(TrainyardError, match="storage memory"):
        await streams.ensure(bus._client)


async def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        await NatsBus.connect(f"nats://127.0.0.1:{free_port()}", source="/t", patience=0.3)


async def test_an_error_of_the_server_does_not_end_the_connection(bus: NatsBus) -> None:
    await bus._client._process_err("'Slow Consumer'")
    assert await bus.connected()
    assert await bus.append(submitted(), after=0)


async def test_a_follower_notices_a_delivery_that_went_missing(bus: NatsBus) -> None:
    """The last message of a burst is dropped on its way; nothing else ever comes that would show the gap."""
    follower = bus.follow()
    first = await bus.append(submitted(), after=0)
    seen = [item.seq for item in (await anext(follower)).events]
    while first not in seen:
        seen += [item.seq for item in (await anext(follower)).events]
    (puller,) = bus._pullers
    keep = puller._queue.put_nowait
    dropped: list[Any] = []

    def drop_one(item: Any) -> None:
        if not dropped and not isinstance(item, Lost) and "Status" not in (item.headers or {}):
            dropped.append(item)
        else:
            keep(item)

    puller._queue.put_nowait = drop_one  # type: ignore[method-assign]
    lost = await bus.append(submitted(), after=0)
    async with asyncio.timeout(20):
        async for batch in follower:
            if lost in [item.seq for item in batch.events]:
                break
    assert dropped


async def test_wrong_credentials_are_told_at_once(tmp_path: Path) -> None:
    guarded = NatsServer(tmp_path, extra=("--user", "yard", "--pass", "right"))
    guarded.start()
    try:
        with pytest.raises(Unauthorized, match="NATS_USER"):
            await NatsBus.connect(guarded.url, source="/t", user="yard", password="wrong", patience=2)
        made = await NatsBus.connect(guarded.url, source="/t", user="yard", password="right")
        await made.close()
    finally:
        guarded.stop()
