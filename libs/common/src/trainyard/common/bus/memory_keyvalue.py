"""A bucket in memory, for unit tests. It passes the same suite as the real one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from trainyard.common.bus.keyvalue import Changes, Entry, Gone, checked_key
from trainyard.common.errors import InvalidInput, StaleSequence


class MemoryKeyValue:
    """Implements keyvalue.KeyValue."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._latest: dict[str, Entry | Gone] = {}
        self._revision = 0
        self._changed = asyncio.Condition()

    async def get(self, key: str) -> Entry | None:
        found = self._latest.get(checked_key(key))
        return found if isinstance(found, Entry) else None

    async def put(self, key: str, value: bytes, *, after: int | None = None) -> int:
        if len(value) > self._largest:
            raise InvalidInput.one(f"{key} has {len(value)} bytes, at most {self._largest} fit")
        await self._check(key, after)
        return await self._store(Entry(key, value, self._revision + 1))

    async def delete(self, key: str, *, after: int | None = None) -> None:
        present = await self.get(key)
        if present is None and not after:
            return
        await self._check(key, after)
        await self._store(Gone(key, self._revision + 1))

    async def keys(self) -> list[str]:
        return [entry.key for entry in await self.entries()]

    async def entries(self) -> list[Entry]:
        return sorted((item for item in self._latest.values() if isinstance(item, Entry)), key=lambda entry: entry.key)

    async def watch(self) -> AsyncIterator[Changes]:
        present = sorted(await self.entries(), key=lambda entry: entry.revision)
        seen = self._revision
        yield Changes(tuple(present), caught_up=True, anew=True)
        while True:
            async with self._changed:
                while self._revision == seen:
                    await self._changed.wait()
            new = sorted((item for item in self._latest.values() if item.revision > seen), key=lambda i: i.revision)
            seen = self._revision
            yield Changes(tuple(new), caught_up=True)

    async def _check(self, key: str, after: int | None) -> None:
        present = await self.get(key)
        if after is not None and (present.revision if present else 0) != after:
            raise StaleSequence(f"{key} was written after revision {after}")

    async def _store(self, item: Entry | Gone) -> int:
        self._revision = item.revision
        self._latest[item.key] = item
        async with self._changed:
            self._changed.notify_all()
        return item.revision
