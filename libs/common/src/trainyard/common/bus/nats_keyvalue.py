"""Buckets on JetStream, laid out as NATS's own KV is (ADR-8): stream `KV_<bucket>`, subject `$KV.<bucket>.<key>`.

nats-py has a KV client; it is not used because a watcher of it does not outlive the server's restart and a write whose
answer was lost cannot be told from one that lost a race. Reading is stateless, by direct get. A watcher is woken by the
very messages that writers send, then reads what the stream holds behind the last revision that it has seen; what it
slept through it finds at its next look.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError

from trainyard.common.bus import direct, streams
from trainyard.common.bus.keyvalue import Changes, Entry, Gone, checked_bucket, checked_key
from trainyard.common.errors import InvalidInput, StaleSequence, Unavailable
from trainyard.common.waiting import within

_WRONG_LAST_SEQUENCE = (10071, 10164)
_TRY, _PATIENCE = 3.0, 60.0  # seconds: one write, all tries of it
_PAGE = 256
_LOOKS = (0.02, 0.1, 0.5)  # seconds: a message wakes us a moment before the stream has stored it
_IDLE = 2.0  # seconds between two looks when nothing wakes us


def stream_of(bucket: str, max_age: float = 0.0) -> StreamConfig:
    """`max_age`: seconds after which a key that nobody writes again is gone; 0: never."""
    return StreamConfig(
        name=f"KV_{bucket}",
        description="Trainyard's documents by key",
        subjects=[f"$KV.{bucket}.>"],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        max_age=max_age,
        duplicate_window=120,
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
    )


class NatsKeyValue:
    """Implements keyvalue.KeyValue. Made by `open`."""

    def __init__(self, client: Client, bucket: str, max_age: float = 0.0) -> None:
        self._client = client
        self._config = stream_of(checked_bucket(bucket), max_age)
        self._stream = str(self._config.name)
        self._prefix = f"$KV.{bucket}."

    @classmethod
    async def open(cls, client: Client, bucket: str, max_age: float = 0.0) -> Self:
        """The bucket is created where it is missing. Raises Unavailable."""
        made = cls(client, bucket, max_age)
        await made._ensure()
        return made

    async def get(self, key: str) -> Entry | None:
        found = await self._last(checked_key(key))
        item = self._item(found) if found else None
        return item if isinstance(item, Entry) else None

    async def put(self, key: str, value: bytes, *, after: int | None = None) -> int:
        limit = self._client.max_payload - 4096  # headers count as well
        if len(value) > limit:
            raise InvalidInput.one(f"{key} has {len(value)} bytes, at most {limit} fit into a message")
        return await self._write(checked_key(key), value, {}, after)

    async def delete(self, key: str, *, after: int | None = None) -> None:
        if not after and await self.get(key) is None:
            return
        await self._write(checked_key(key), b"", {"KV-Operation": "DEL"}, after)

    async def keys(self) -> list[str]:
        return [entry.key for entry in await self.entries()]

    async def entries(self) -> list[Entry]:
        found: dict[str, Entry | Gone] = {}
        last, more = 0, True
        while more:
            page, last, more = await self._page(last)
            found |= {item.key: item for item in page}
        return sorted((item for item in found.values() if isinstance(item, Entry)), key=lambda entry: entry.key)

    async def watch(self) -> AsyncIterator[Changes]:
        woken = asyncio.Event()

        async def wake(_: Msg) -> None:
            woken.set()

        subscription = await self._client.subscribe(f"{self._prefix}>", cb=wake)
        try:
            identity, last, anew = await self._identity(), 0, True
            while True:
                page, last, more = await self._page(last)
                if anew:
                    page = [item for item in page if isinstance(item, Entry)]
                if page or (anew and not more):
                    yield Changes(tuple(page), caught_up=not more, anew=anew)
                    anew = anew and more
                if not more and not await self._something_new(woken, last):
                    current = await self._identity()
                    if current != identity:  # the server lost its store, or is another one
                        identity, last, anew = current, 0, True
        finally:
            if not self._client.is_closed:
                with contextlib.suppress(NatsError):
                    await subscription.unsubscribe()

    async def _something_new(self, woken: asyncio.Event, last: int) -> bool:
        """Waits for a message on the bucket's subjects, then until the stream shows it. False after a while without."""
        if not await within(woken, _IDLE):
            return False
        woken.clear()
        for delay in _LOOKS:
            page, _, _ = await self._page(last)
            if page:
                return True
            await asyncio.sleep(delay)
        return False

    async def _page(self, last: int) -> tuple[list[Entry | Gone], int, bool]:
        """What stands behind a sequence, the sequence behind which to go on, and whether there may be more."""
        query = {"next_by_subj": f"{self._prefix}>", "seq": last + 1, "batch": _PAGE}
        stored = await direct.read(self._client, self._stream, query)
        return [self._item(item) for item in stored], stored[-1].seq if stored else last, len(stored) == _PAGE

    async def _last(self, key: str) -> direct.Stored | None:
        stored = await direct.read(self._client, self._stream, {"multi_last": [self._prefix + key]})
        return stored[-1] if stored else None

    def _item(self, stored: direct.Stored) -> Entry | Gone:
        key = stored.subject.removeprefix(self._prefix)
        # The second header marks what the server itself took away (nats-server 2.11, limits of age).
        if stored.headers.get("KV-Operation") in {"DEL", "PURGE"} or "Nats-Marker-Reason" in stored.headers:
            return Gone(key, stored.seq)
        return Entry(key, stored.payload, stored.seq)

    async def _write(self, key: str, payload: bytes, headers: dict[str, str], after: int | None) -> int:
        mark = uuid.uuid4().hex
        headers = {**headers, "Nats-Msg-Id": mark}
        if after is not None:
            headers["Nats-Expected-Last-Subject-Sequence"] = str(after or await self._after_nothing(key))
        js = self._client.jetstream(timeout=_TRY)
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        delay = 0.05
        while True:
            try:
                return int((await js.publish(self._prefix + key, payload, headers=headers, timeout=_TRY)).seq)
            except APIError as error:
                if error.err_code in _WRONG_LAST_SEQUENCE:
                    return await self._already_there(key, mark, after)
                fault: Exception = error
            except (NatsError, TimeoutError) as error:
                fault = error
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"{key} could not be stored: {fault}") from fault
            await asyncio.sleep(delay)
            delay = min(delay * 2, 2.0)
            with contextlib.suppress(Unavailable):
                await self._ensure(patience=_TRY)  # a server that lost its store has no bucket either

    async def _after_nothing(self, key: str) -> int:
        """What to expect where no value may be: a deleted key still has the sequence of its deletion."""
        stored = await self._last(key)
        return stored.seq if stored and isinstance(self._item(stored), Gone) else 0

    async def _already_there(self, key: str, mark: str, after: int | None) -> int:
        """A refused write: perhaps this very one was stored before and only its answer was lost."""
        stored = await self._last(key)
        if stored is not None and stored.headers.get("Nats-Msg-Id") == mark:
            return stored.seq
        raise StaleSequence(f"{key} was written after revision {after}")

    async def _identity(self) -> str:
        while True:
            try:
                return str((await self._client.jetstream(timeout=_TRY).stream_info(self._stream)).created)
            except (NatsError, TimeoutError):
                if self._client.is_closed:
                    raise
                await asyncio.sleep(_LOOKS[-1])
                with contextlib.suppress(Unavailable):
                    await self._ensure(patience=_TRY)

    async def _ensure(self, patience: float = 30.0) -> None:
        await streams.ensure(self._client, (self._config,), patience=patience)
