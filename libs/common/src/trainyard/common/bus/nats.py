"""The bus on NATS and JetStream. The only module (with its neighbours here) that knows nats-py.

It reconnects for ever: a nats-server that was killed comes back with everything that it had acknowledged, and whoever
was waiting goes on. What is in doubt (an append whose answer was lost) is looked up, not guessed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Self

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import APIError, NotFoundError

from trainyard.common.bus import answering, deadletters, direct, streams
from trainyard.common.bus.connection import LastingClient
from trainyard.common.bus.context import traceparent
from trainyard.common.bus.following import Follower
from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.bus.metrics import BusMetrics, Silent
from trainyard.common.bus.nats_keyvalue import NatsKeyValue
from trainyard.common.bus.port import Batch, CommandHandler, DeadLetter, EventHandler, Running, Subscription
from trainyard.common.bus.pull import Puller
from trainyard.common.bus.working import Worker
from trainyard.common.clock import Clock, SystemClock
from trainyard.common.contract import subjects
from trainyard.common.contract.codec import Recorded, address_of, decode, encode
from trainyard.common.contract.commands import Answer, Command
from trainyard.common.contract.event import Event
from trainyard.common.errors import InvalidInput, Permanent, StaleSequence, Unauthorized, Unavailable

log = structlog.get_logger()

_WRONG_LAST_SEQUENCE = 10071
_APPEND_TRY = 3.0  # seconds
_APPEND_PATIENCE = 60.0
_PAGE = 256
_CLOSE = 5.0


class NatsBus:
    """Implements port.Bus. Made by `connect`."""

    def __init__(self, client: Client, source: str, clock: Clock, metrics: BusMetrics) -> None:
        self._client = client
        self._source = source
        self._clock = clock
        self._metrics = metrics
        self._pullers: set[Puller] = set()
        self._refused = False
        self._closing = False

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        source: str,
        clock: Clock | None = None,
        user: str | None = None,
        password: str | None = None,
        patience: float = 30.0,
        metrics: BusMetrics | None = None,
    ) -> Self:
        """Waits up to `patience` seconds for a server that is not up yet, then raises Unavailable."""
        client = LastingClient()
        bus = cls(client, source, clock or SystemClock(), metrics or Silent())
        options: dict[str, Any] = {"user": user, "password": password} if user else {}
        try:
            async with asyncio.timeout(patience):  # the client itself would try for ever
                await client.connect(
                    url,
                    name=source,
                    connect_timeout=2,
                    allow_reconnect=True,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.2,  # type: ignore[arg-type] # seconds, and fractions are taken
                    ping_interval=10,
                    max_outstanding_pings=2,
                    error_cb=bus._on_error,
                    disconnected_cb=bus._on_disconnected,
                    reconnected_cb=bus._on_reconnected,
                    **options,
                )
        except (OSError, NatsError, TimeoutError) as error:
            refused = bus._refused
            await client.close()
            if refused:
                raise Unauthorized(
                    f"nats-server at {url} refuses the credentials: set NATS_USER and NATS_PASSWORD"
                ) from error
            reason = str(error) or "no connection"
            raise Unavailable(f"nats-server at {url} does not answer ({reason}) after {patience:g} s") from error
        await streams.ensure(client, patience=patience)
        return bus

    async def connected(self) -> bool:
        return bool(self._client.is_connected)

    async def close(self) -> None:
        if self._client.is_closed:
            return
        self._closing = True
        try:
            async with asyncio.timeout(_CLOSE):
                await self._client.drain()
        except (NatsError, OSError, TimeoutError):  # OSError: the server went a moment ago
            with contextlib.suppress(NatsError, OSError):
                await self._client.close()

    # The log

    async def identity(self) -> str:
        info = await self._client.jetstream(timeout=5).stream_info(subjects.EVENTS_STREAM)
        return str(info.created)

    async def append(self, event: Event, *, after: int) -> int:
        subject, headers, payload = encode(
            event, source=self._source, now=self._clock.now(), traceparent=traceparent.get()
        )
        self._check_size(event, payload)
        headers["Nats-Msg-Id"] = headers["ce-id"]
        headers["Nats-Expected-Last-Subject-Sequence"] = str(after)
        headers["Nats-Expected-Last-Subject-Sequence-Subject"] = subjects.of_entity(event.entity, event.entity_id())
        js = self._client.jetstream(timeout=_APPEND_TRY)
        deadline = asyncio.get_running_loop().time() + _APPEND_PATIENCE
        delay = 0.05
        while True:
            try:
                ack = await js.publish(subject, payload, headers=headers, timeout=_APPEND_TRY)
                self._metrics.appended(event.entity, event.kind)
                return int(ack.seq)
            except APIError as error:
                if error.err_code == _WRONG_LAST_SEQUENCE:
                    return await self._already_there(event, after)
                fault: Exception = error
            except (NatsError, TimeoutError) as error:
                fault = error
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable(f"{event.event_id()} could not be stored: {fault}") from fault
            await asyncio.sleep(delay)
            delay = min(delay * 2, 2.0)

    async def _already_there(self, event: Event, after: int) -> int:
        """A refused append: perhaps this very event was stored before and only its answer was lost."""
        subject = address_of(event).subject
        stored = await direct.read(self._client, subjects.EVENTS_STREAM, {"multi_last": [subject]})
        if stored and stored[-1].headers.get("ce-id") == event.event_id():
            return stored[-1].seq
        self._metrics.stale()
        raise StaleSequence(
            f"{event.event_id()} was decided after sequence {after}, but its {event.entity} has moved on"
        )

    def _check_size(self, event: Event, payload: bytes) -> None:
        limit = self._client.max_payload - 4096  # headers count as well
        if len(payload) > limit:
            raise InvalidInput.one(
                f"{event.event_id()} has {len(payload)} bytes, at most {limit} fit into a message",
                hint="put data into files",
            )

    async def latest(self, entity: str, entity_id: str) -> list[Recorded[Any]]:
        query = {"multi_last": [subjects.of_entity(entity, entity_id)]}
        return self._decoded(await direct.read(self._client, subjects.EVENTS_STREAM, query))

    async def history(self, entity: str, entity_id: str, *, after: int = 0) -> AsyncIterator[Recorded[Any]]:
        subject, seq = subjects.of_entity(entity, entity_id), after + 1
        while True:
            query = {"next_by_subj": subject, "seq": seq, "batch": _PAGE}
            page = await direct.read(self._client, subjects.EVENTS_STREAM, query)
            for recorded in self._decoded(page):
                yield recorded
            if len(page) < _PAGE:
                return
            seq = page[-1].seq + 1

    def _decoded(self, stored: list[direct.Stored]) -> list[Recorded[Any]]:
        found = []
        for item in stored:
            try:
                found.append(decode(item.subject, item.headers, item.payload, item.seq))
            except Permanent as error:
                self._metrics.unreadable()
                log.warning("event cannot be read", subject=item.subject, seq=item.seq, error=str(error))
        return found

    def follow(self, *, after: int = 0, filters: Sequence[str] = ()) -> AsyncIterator[Batch]:
        return Follower(self._client, self._metrics, after=after, filters=filters, register=self._register).batches()

    def _register(self, puller: Puller) -> Callable[[], None]:
        self._pullers.add(puller)
        return lambda: self._pullers.discard(puller)

    # Work, commands, telemetry

    async def consume(self, subscription: Subscription, handler: EventHandler) -> Running:
        worker = Worker(self._client, self._metrics, subscription, handler, self._register)
        await worker.start()
        return worker

    async def request(self, command: Command, *, timeout: float = 10.0, request_id: str | None = None) -> Answer:
        return await answering.ask(self._client, self._source, command, timeout=timeout, request_id=request_id)

    async def serve(self, handlers: Mapping[str, CommandHandler]) -> Running:
        responder = answering.Responder(self._client, self._source, handlers)
        await responder.start()
        return responder

    async def publish(self, event: Event) -> None:
        subject, headers, payload = encode(event, source=self._source, now=self._clock.now())
        with contextlib.suppress(NatsError):  # telemetry may be lost
            await self._client.publish(subject, payload, headers=headers)

    async def observe(self, subject: str) -> AsyncIterator[Recorded[Any]]:
        queue: asyncio.Queue[Msg] = asyncio.Queue(maxsize=4096)

        async def keep(message: Msg) -> None:
            if queue.full():
                queue.get_nowait()  # the newest matter most
            queue.put_nowait(message)

        subscription = await self._client.subscribe(subject, cb=keep)
        try:
            while True:
                message = await queue.get()
                try:
                    yield decode(message.subject, message.headers, message.data)
                except Permanent:
                    self._metrics.unreadable()
        finally:
            if not self._client.is_closed:
                await subscription.unsubscribe()

    async def keyvalue(self, bucket: str, max_age: float = 0.0) -> KeyValue:
        return await NatsKeyValue.open(self._client, bucket, max_age)

    # Dead letters

    async def dead_letters(self, *, limit: int = 100) -> list[DeadLetter]:
        return await deadletters.newest(self._client, limit)

    async def dead_letter(self, seq: int) -> DeadLetter:
        return await deadletters.one(self._client, seq)

    async def replay(self, seq: int) -> None:
        await deadletters.replay(self._client, await deadletters.one(self._client, seq))

    async def _on_error(self, error: Exception) -> None:
        text = str(error) or type(error).__name__
        self._refused = self._refused or "authorization violation" in text.lower()
        log.debug("nats", error=text)

    async def _on_disconnected(self) -> None:
        if not self._closing:
            log.warning("the connection to nats-server is gone; trying again until it is back")

    async def _on_reconnected(self) -> None:
        log.info("nats-server is back", url=str(self._client.connected_url and self._client.connected_url.netloc))
        for puller in list(self._pullers):
            puller.interrupt("the connection was made anew")
        # A server that lost its store, or another one: the streams must be there before anybody goes on.
        with contextlib.suppress(NatsError, Unavailable, NotFoundError):
            await streams.ensure(self._client, patience=10)
