"""Durable work: each message is handled by one member of a group, until it is acked, or given up with a reason.

What the handler raises decides (see `errors`). While a handler runs the server is told so, however long it takes; a
process that dies is silent, and its messages go to another member after `ack_wait`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import APIError, NotFoundError
from nats.js.errors import Error as JetStreamError

from trainyard.common.bus import deadletters
from trainyard.common.bus.context import traceparent
from trainyard.common.bus.metrics import BusMetrics
from trainyard.common.bus.port import EventHandler, Subscription
from trainyard.common.bus.pull import Lost, Puller, deliveries, stream_seq
from trainyard.common.cancelling import cancelled
from trainyard.common.contract import subjects
from trainyard.common.contract.codec import Recorded, decode
from trainyard.common.errors import Permanent, Retryable, UserError

log = structlog.get_logger()

RETRY = 0.5
_ACK, _TERM, _PROGRESS = b"+ACK", b"+TERM", b"+WPI"


class Worker:
    """One member of a durable's group. Implements port.Running."""

    def __init__(
        self,
        client: Client,
        metrics: BusMetrics,
        subscription: Subscription,
        handler: EventHandler,
        register: Callable[[Puller], Callable[[], None]],
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._wanted = subscription
        self._handler = handler
        self._register = register
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await ensure(self._client, self._wanted)
        self._loop = asyncio.create_task(self._run(), name=f"consume {self._wanted.durable}")

    async def stop(self) -> None:
        if self._loop is not None:
            await cancelled(self._loop)
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self) -> None:
        while not self._client.is_closed:
            try:
                async with Puller(self._client, subjects.EVENTS_STREAM, self._wanted.durable) as puller:
                    forget = self._register(puller)
                    try:
                        while True:
                            await self._take(puller)
                    finally:
                        forget()
            except (Lost, NatsError, JetStreamError, TimeoutError) as error:
                log.debug("consumer begins anew", durable=self._wanted.durable, why=str(error))
                await asyncio.sleep(RETRY)
                with contextlib.suppress(NatsError, JetStreamError, TimeoutError):
                    await ensure(self._client, self._wanted)

    async def _take(self, puller: Puller) -> None:
        free = self._wanted.concurrency - len(self._tasks)
        if free <= 0:
            await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
            return
        for message in await puller.next(free):
            task = asyncio.create_task(self._handle(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, message: Msg) -> None:
        began = time.monotonic()
        beat = _Beat(self._client, message, self._wanted.ack_wait / 3)
        try:
            outcome = await self._outcome(message)
        except (NatsError, JetStreamError, TimeoutError) as error:
            # The answer could not be sent: the server delivers again after ack_wait.
            log.warning("message not answered", durable=self._wanted.durable, error=str(error))
            outcome = "nak"
        finally:
            beat.stop()
        self._metrics.handled(self._wanted.durable, outcome, time.monotonic() - began)

    async def _outcome(self, message: Msg) -> str:
        try:
            recorded = read(message)
            token = traceparent.set(recorded.traceparent)
            try:
                await self._handler(recorded)
            finally:
                traceparent.reset(token)
        except Retryable as error:
            return await self._again(message, error, error.delay)
        except (Permanent, UserError) as error:
            return await self._give_up(message, str(error))
        except Exception as error:
            log.error("handler failed", durable=self._wanted.durable, seq=stream_seq(message), exc_info=error)
            return await self._again(message, error, None)
        await self._client.publish(message.reply, _ACK)
        return "ack"

    async def _again(self, message: Msg, error: Exception, delay: float | None) -> str:
        count = deliveries(message)
        # Passing trouble (Retryable) is waited out; a fault of ours is not repeated for ever.
        if delay is None and count >= self._wanted.max_deliver:
            return await self._give_up(message, f"{type(error).__name__}: {error}")
        backoff = self._wanted.backoff
        wait = delay if delay is not None else backoff[min(count, len(backoff)) - 1]
        await self._client.publish(message.reply, b'-NAK {"delay": %d}' % int(wait * 1e9))
        return "nak"

    async def _give_up(self, message: Msg, reason: str) -> str:
        subject, seq = origin(message)
        await deadletters.bury(
            self._client,
            message,
            durable=self._wanted.durable,
            reason=reason,
            subject=subject,
            seq=seq,
            count=deliveries(message),
        )
        await self._client.publish(message.reply, _TERM)
        self._metrics.dead_letter(self._wanted.durable)
        log.warning("dead letter", durable=self._wanted.durable, subject=subject, seq=seq, reason=reason)
        return "dead"


class _Beat:
    """Tells the server at intervals that a message is being worked on. A timer, since most messages never need it."""

    def __init__(self, client: Client, message: Msg, interval: float) -> None:
        self._client = client
        self._message = message
        self._interval = interval
        self._sending: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(interval, self._beat)

    def stop(self) -> None:
        self._timer.cancel()

    def _beat(self) -> None:
        self._sending = asyncio.create_task(self._send())
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._beat)

    async def _send(self) -> None:
        with contextlib.suppress(NatsError):
            await self._client.publish(self._message.reply, _PROGRESS)


def origin(message: Msg) -> tuple[str, int]:
    """Subject and sequence in the log; a replayed message carries those of the first time. Anybody may write to the
    subject of replays, so one without them stands for itself, and is then buried as unreadable."""
    headers = message.headers or {}
    seq = headers.get(deadletters.SEQ, "")
    if deadletters.SUBJECT in headers and seq.isascii() and seq.isdigit() and len(seq) < 19:
        return headers[deadletters.SUBJECT], int(seq)
    return message.subject, stream_seq(message)


def read(message: Msg) -> Recorded[Any]:
    subject, seq = origin(message)
    return decode(subject, message.headers, message.data, seq)


def configuration(wanted: Subscription) -> ConsumerConfig:
    return ConsumerConfig(
        durable_name=wanted.durable,
        deliver_policy=DeliverPolicy.ALL,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=wanted.ack_wait,
        # We count ourselves: the server would drop the message without a dead letter.
        max_deliver=-1,
        max_ack_pending=max(1000, wanted.concurrency * 2),
        filter_subjects=[*wanted.filters, subjects.replay(wanted.durable)],
    )


async def ensure(client: Client, wanted: Subscription) -> None:
    """The durable as it should be: created, left, or updated where its configuration has drifted.

    A durable that cannot be updated is made anew behind what it has acked, so that nothing is skipped.
    """
    js = client.jetstream(timeout=5)
    config = configuration(wanted)
    try:
        info = await js.consumer_info(subjects.EVENTS_STREAM, wanted.durable)
    except NotFoundError:
        await js.add_consumer(subjects.EVENTS_STREAM, config=config)
        return
    drifted = [
        name
        for name in ("ack_wait", "max_deliver", "max_ack_pending", "ack_policy")
        if getattr(info.config, name) != getattr(config, name)
    ]
    if set(_filters(info.config)) != set(_filters(config)):
        drifted.append("filter_subjects")
    if not drifted:
        return
    log.info("consumer is brought up to date", durable=wanted.durable, fields=drifted)
    # The start of an existing consumer cannot be changed: say what it has.
    config.deliver_policy, config.opt_start_seq = info.config.deliver_policy, info.config.opt_start_seq
    try:
        await js.add_consumer(subjects.EVENTS_STREAM, config=config)
    except APIError as error:
        floor = info.ack_floor.stream_seq if info.ack_floor else 0
        log.warning("consumer is made anew", durable=wanted.durable, after=floor, why=error.description)
        await js.delete_consumer(subjects.EVENTS_STREAM, wanted.durable)
        config.deliver_policy, config.opt_start_seq = DeliverPolicy.BY_START_SEQUENCE, floor + 1
        await js.add_consumer(subjects.EVENTS_STREAM, config=config)


def _filters(config: ConsumerConfig) -> list[str]:
    if config.filter_subjects:
        return list(config.filter_subjects)
    return [config.filter_subject] if config.filter_subject else []
