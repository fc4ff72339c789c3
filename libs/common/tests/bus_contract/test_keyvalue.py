"""Buckets: optimistic writes, deletion, and watchers that miss nothing that lasts."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from trainyard.common.bus.keyvalue import Changes, Entry, Gone, KeyValue
from trainyard.common.bus.port import Bus
from trainyard.common.errors import InvalidInput, StaleSequence


@pytest_asyncio.fixture
async def bucket(bus: Bus) -> KeyValue:
    return await bus.keyvalue(f"test-{uuid.uuid4().hex}")


async def upto(watcher: AsyncIterator[Changes], key: str) -> list[Entry | Gone]:
    """What comes up to and with this key."""
    seen: list[Entry | Gone] = []
    async with asyncio.timeout(15):
        while key not in {item.key for item in seen}:
            seen += (await anext(watcher)).items
    return seen


async def test_what_was_put_is_there_until_it_is_deleted(bucket: KeyValue) -> None:
    assert await bucket.get("a.1-0/x") is None
    first = await bucket.put("a.1-0/x", b"one")
    assert await bucket.get("a.1-0/x") == Entry("a.1-0/x", b"one", first)
    second = await bucket.put("a.1-0/x", b"two")
    assert second > first
    await bucket.put("a", b"")
    assert [entry.value for entry in await bucket.entries()] == [b"", b"two"]
    await bucket.delete("a.1-0/x")
    await bucket.delete("a.1-0/x")
    await bucket.delete("never.there")
    assert await bucket.get("a.1-0/x") is None
    assert await bucket.keys() == ["a"]


async def test_a_writer_that_has_not_seen_the_last_revision_is_refused(bucket: KeyValue) -> None:
    first = await bucket.put("k", b"1", after=0)
    with pytest.raises(StaleSequence):
        await bucket.put("k", b"again", after=0)
    second = await bucket.put("k", b"2", after=first)
    with pytest.raises(StaleSequence):
        await bucket.put("k", b"3", after=first)
    with pytest.raises(StaleSequence):
        await bucket.delete("k", after=first)
    assert await bucket.get("k") == Entry("k", b"2", second)
    await bucket.delete("k", after=second)
    with pytest.raises(StaleSequence):
        await bucket.put("k", b"4", after=second)
    assert await bucket.put("k", b"anew", after=0) > second


async def test_of_two_writers_exactly_one_wins(bucket: KeyValue) -> None:
    seen = await bucket.put("k", b"0")
    outcomes = await asyncio.gather(
        *(bucket.put("k", str(number).encode(), after=seen) for number in range(8)), return_exceptions=True
    )
    assert sum(isinstance(outcome, int) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, StaleSequence) for outcome in outcomes) == 7


async def test_a_watcher_gets_what_is_there_and_then_what_changes(bucket: KeyValue) -> None:
    await bucket.put("gone", b"x")
    await bucket.delete("gone")
    kept = await bucket.put("kept", b"1")
    watcher = bucket.watch()
    first = await anext(watcher)
    assert first == Changes((Entry("kept", b"1", kept),), caught_up=True, anew=True)
    await bucket.put("kept", b"2")
    assert [item for item in await upto(watcher, "kept") if isinstance(item, Entry)][-1].value == b"2"
    await bucket.delete("kept")
    assert isinstance((await upto(watcher, "kept"))[-1], Gone)


async def test_an_empty_bucket_says_so(bucket: KeyValue) -> None:
    assert await bucket.entries() == []
    assert await anext(bucket.watch()) == Changes((), caught_up=True, anew=True)


async def test_many_keys_come_whole(bucket: KeyValue) -> None:
    await asyncio.gather(*(bucket.put(f"k.{number:04}", b"v") for number in range(600)))
    assert await bucket.keys() == [f"k.{number:04}" for number in range(600)]
    watched: set[str] = set()
    async for changes in bucket.watch():
        watched |= {item.key for item in changes.items}
        if changes.caught_up:
            break
    assert len(watched) == 600


@pytest.mark.parametrize("key", ["", ".a", "a.", "a..b", "a b", "a*", "a.>", "ä", "k" * 600])
async def test_what_cannot_be_a_key_is_named(bucket: KeyValue, key: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be a key"):
        await bucket.put(key, b"")
    with pytest.raises(InvalidInput, match="cannot be a key"):
        await bucket.get(key)


async def test_what_is_too_large_and_what_names_no_bucket(bus: Bus, bucket: KeyValue) -> None:
    with pytest.raises(InvalidInput, match="bytes, at most"):
        await bucket.put("k", b"x" * 2**20)
    with pytest.raises(InvalidInput, match="cannot name a bucket"):
        await bus.keyvalue("a.b")
