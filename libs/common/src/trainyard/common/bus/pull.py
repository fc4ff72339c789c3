"""Pulling the messages of a JetStream consumer with a standing request: no polling, no flood.

`next` gives what has arrived, at least one message. A request asks for as many as the caller has room for and the
server answers when there is something, with idle heart-beats meanwhile; silence, a deleted consumer or a reconnect
raise `Lost`, upon which the owner opens the consumer anew. Source: NATS ADR-37 (simplified pull).
"""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Self

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

HEARTBEAT = 1.0  # seconds between two signs of life of an idle request
SILENCE = 3.5  # seconds without any after which the request is given up
EXPIRES = 30.0


class Lost(Exception):
    """The standing request is gone: reconnect, deleted consumer, restart of the server."""


class Puller:
    def __init__(self, client: Client, stream: str, consumer: str, *, alone: bool = False) -> None:
        """`alone`: nobody else pulls from this consumer, so its count of deliveries is ours, and one that went missing on
        the way is noticed at the next heart-beat."""
        self._alone = alone
        self._delivered = 0
        self._client = client
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._inbox = client.new_inbox()
        self._queue: asyncio.Queue[Msg | Lost] = asyncio.Queue()
        self._asked = 0
        self._subscription: Subscription | None = None

    async def __aenter__(self) -> Self:
        self._subscription = await self._client.subscribe(self._inbox, cb=self._queue.put)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._subscription is not None and not self._client.is_closed:
            await self._subscription.unsubscribe()

    def interrupt(self, why: str) -> None:
        """Makes `next` raise Lost: the connection was made anew and the server has forgotten the request."""
        self._queue.put_nowait(Lost(why))

    async def next(self, room: int) -> list[Msg]:
        """One to `room` messages. Raises Lost."""
        while True:
            await self._ask(room)
            messages = self._sort_out(await self._wait(), room)
            if messages:
                return messages

    async def _ask(self, room: int) -> None:
        """Keeps about `room` messages on order; asks again at half, so that the server never waits for us."""
        outstanding = self._asked + self._queue.qsize()
        if outstanding > room // 2:
            return
        wanted = room - outstanding
        request = {"batch": wanted, "expires": int(EXPIRES * 1e9), "idle_heartbeat": int(HEARTBEAT * 1e9)}
        self._asked += wanted
        await self._client.publish(self._subject, json.dumps(request).encode(), reply=self._inbox)

    async def _wait(self) -> Msg | Lost:
        try:
            async with asyncio.timeout(SILENCE):
                return await self._queue.get()
        except TimeoutError:
            return Lost(f"nothing was heard for {SILENCE} s")

    def _sort_out(self, first: Msg | Lost, room: int) -> list[Msg]:
        messages: list[Msg] = []
        item: Msg | Lost = first
        while True:
            if isinstance(item, Lost):
                raise item
            status = (item.headers or {}).get("Status")
            if status is None:
                self._asked = max(0, self._asked - 1)
                self._delivered = consumer_seq(item)
                messages.append(item)
            else:
                self._status(status, item)
            if self._queue.empty() or len(messages) >= room:
                return messages
            item = self._queue.get_nowait()

    def _status(self, status: str, message: Msg) -> None:
        headers = message.headers or {}
        if status == "100":
            if self._alone and int(headers.get("Nats-Last-Consumer", 0)) > self._delivered:
                raise Lost("a delivery was missed")
            return
        if status == "503" or "Consumer" in headers.get("Description", ""):
            raise Lost(headers.get("Description", "no responders"))
        # 404, 408, 409: a request has ended; what it did not deliver is off the order.
        self._asked = max(0, self._asked - int(headers.get("Nats-Pending-Messages", self._asked)))


def stream_seq(message: Msg) -> int:
    return int(message.reply.split(".")[-4])


def consumer_seq(message: Msg) -> int:
    """The number of this delivery at its consumer, from 1."""
    return int(message.reply.split(".")[-3])


def deliveries(message: Msg) -> int:
    return int(message.reply.split(".")[-5])


def pending(message: Msg) -> int:
    """How many messages of the consumer are behind this one."""
    return int(message.reply.split(".")[-1])
