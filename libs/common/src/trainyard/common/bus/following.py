"""Following the log: every event after a sequence, in order, without gap or double, through any restart.

An ephemeral consumer without acks delivers; when it is lost, the next one begins behind the last event that was seen.
The server counts the deliveries, so a message that went missing on the way shows as a gap and is fetched again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy
from nats.js.errors import Error as JetStreamError

from trainyard.common.bus.metrics import BusMetrics
from trainyard.common.bus.port import Batch
from trainyard.common.bus.pull import Lost, Puller, consumer_seq, pending, stream_seq
from trainyard.common.contract.codec import Recorded, decode
from trainyard.common.contract.subjects import EVENT_SUBJECTS, EVENTS_STREAM
from trainyard.common.errors import Permanent

log = structlog.get_logger()

ROOM = 512  # messages a batch at most
INACTIVE = 60.0  # seconds after which the server drops a consumer whose follower is gone
RETRY = 0.3


class Follower:
    """One follower; `batches` is its life."""

    def __init__(
        self,
        client: Client,
        metrics: BusMetrics,
        *,
        after: int,
        filters: Sequence[str],
        register: Callable[[Puller], Callable[[], None]],
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._last = after
        self._filters = list(filters or EVENT_SUBJECTS)
        self._register = register

    async def batches(self) -> AsyncIterator[Batch]:
        while True:
            try:
                async for batch in self._one_consumer():
                    yield batch
            except (Lost, NatsError, JetStreamError, TimeoutError) as error:
                if self._client.is_closed:
                    return
                log.debug("follower begins anew", after=self._last, why=str(error))
                await asyncio.sleep(RETRY)

    async def _one_consumer(self) -> AsyncIterator[Batch]:
        info = await self._create()
        async with Puller(self._client, EVENTS_STREAM, str(info.name), alone=True) as puller:
            forget = self._register(puller)
            try:
                if not info.num_pending:
                    yield Batch((), self._last, caught_up=True)
                expected = 1
                while True:
                    messages = await puller.next(ROOM)
                    expected = self._check(messages, expected)
                    events = tuple(event for message in messages if (event := self._read(message)) is not None)
                    self._last = stream_seq(messages[-1])
                    yield Batch(events, self._last, caught_up=pending(messages[-1]) == 0)
            finally:
                forget()

    async def _create(self) -> ConsumerInfo:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE if self._last else DeliverPolicy.ALL,
            opt_start_seq=self._last + 1 if self._last else None,
            ack_policy=AckPolicy.NONE,
            filter_subjects=self._filters,
            inactive_threshold=INACTIVE,
            mem_storage=True,
            num_replicas=1,
        )
        return await self._client.jetstream(timeout=5).add_consumer(EVENTS_STREAM, config=config)

    def _check(self, messages: list[Msg], expected: int) -> int:
        for message in messages:
            if consumer_seq(message) != expected:
                raise Lost("a message was missed")
            expected += 1
        return expected

    def _read(self, message: Msg) -> Recorded[Any] | None:
        try:
            return decode(message.subject, message.headers, message.data, stream_seq(message))
        except Permanent as error:
            self._metrics.unreadable()
            log.warning("event cannot be read", subject=message.subject, seq=stream_seq(message), error=str(error))
            return None
