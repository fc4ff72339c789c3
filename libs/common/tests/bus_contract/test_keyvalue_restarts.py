"""A nats-server that is killed keeps its buckets, and those who write and watch go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from trainyard.common.bus.keyvalue import Entry
from trainyard.common.bus.nats import NatsBus
from trainyard.common.testing.nats_server import NatsServer

pytestmark = pytest.mark.integration


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


async def test_writers_and_a_watcher_through_kills(server: NatsServer, bus: NatsBus) -> None:
    bucket = await bus.keyvalue("kept")
    seen: list[bytes] = []

    async def write() -> None:
        revision = 0
        for number in range(200):
            revision = await bucket.put("k", b"%d" % number, after=revision)

    async def watch() -> None:
        async for changes in bucket.watch():
            seen.extend(item.value for item in changes.items if isinstance(item, Entry))
            if b"199" in seen:
                return

    async def bounce() -> None:
        for _ in range(2):
            await asyncio.sleep(0.05)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)

    async with asyncio.timeout(60):
        await asyncio.gather(write(), watch(), bounce())
    numbers = [int(value) for value in seen]
    assert numbers == sorted(set(numbers)), "in order, none twice"
    assert [entry.value for entry in await bucket.entries()] == [b"199"]


async def test_what_was_acknowledged_outlives_the_server_and_the_client(server: NatsServer, bus: NatsBus) -> None:
    bucket = await bus.keyvalue("kept")
    revision = await bucket.put("a", b"1")
    await bucket.put("b", b"2")
    await bucket.delete("b")
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    other = await NatsBus.connect(server.url, source="/trainyard/other")
    again = await other.keyvalue("kept")
    assert await again.entries() == [Entry("a", b"1", revision)]
    assert await again.put("a", b"3", after=revision) > revision
    await other.close()


async def test_a_watcher_of_a_bucket_that_was_lost_begins_anew(server: NatsServer, bus: NatsBus) -> None:
    bucket = await bus.keyvalue("kept")
    await bucket.put("old", b"1")
    await bucket.put("old", b"2")
    watcher = bucket.watch()
    assert (await anext(watcher)).anew
    await bus._client.jetstream().delete_stream("KV_kept")
    await (await bus.keyvalue("kept")).put("new", b"1")
    async with asyncio.timeout(20):
        async for changes in watcher:
            if changes.anew and changes.items:
                break
    assert [item.key for item in changes.items] == ["new"]


async def test_other_programs_read_the_same_buckets(bus: NatsBus) -> None:
    bucket = await bus.keyvalue("shared")
    await bucket.put("k", b"ours")
    theirs = await bus._client.jetstream().key_value("shared")
    assert (await theirs.get("k")).value == b"ours"
    await theirs.put("k", b"theirs")
    found = await bucket.get("k")
    assert found is not None
    assert found.value == b"theirs"
    await theirs.delete("k")
    assert await bucket.get("k") is None
