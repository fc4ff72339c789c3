"""Archives in their bucket, by digest."""

from __future__ import annotations

import asyncio

from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.bus.port import Buckets
from trainyard.common.contract.sources import BUCKET, MAX_AGE
from trainyard.common.sources import archive


class Sources:
    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    @classmethod
    async def open(cls, buckets: Buckets) -> Sources:
        """Raises Unavailable."""
        return cls(await buckets.keyvalue(BUCKET, MAX_AGE))

    async def put(self, data: bytes) -> str:
        """Its digest. Raises InvalidInput for what must not be kept, Unavailable."""
        await asyncio.to_thread(archive.check, data)  # it unpacks up to 64 MiB
        digest = archive.digest(data)
        await self._bucket.put(_key(digest), data)
        return digest

    async def get(self, digest: str) -> bytes | None:
        """None: it was never sent, or nobody has used it for long."""
        found = await self._bucket.get(_key(digest))
        return found.value if found is not None else None

    async def keep(self, digest: str) -> bytes | None:
        """The archive, which is as young as a new one from now on. None: there is none."""
        data = await self.get(digest)
        if data is not None:
            await self._bucket.put(_key(digest), data)
        return data


def _key(digest: str) -> str:
    return digest.removeprefix("sha256:")
