"""Reading a stream without a consumer: JetStream's direct get, in batches (server 2.11 and newer).

Stateless, so nothing is left behind on the server and nothing is lost when it restarts.
Source: NATS ADR-31 (direct get) and its batch extension: replies on one inbox, ended by status 204.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from trainyard.common.errors import Unavailable

_TIMEOUT = 3.0
_RETRIES = 10
_END, _NONE, _NO_RESPONDERS = "204", "404", "503"


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as the stream holds it."""

    seq: int
    subject: str
    headers: dict[str, str]
    payload: bytes


async def read(client: Client, stream: str, query: dict[str, Any]) -> list[Stored]:
    """The messages that a query selects: `multi_last` or `next_by_subj` with `seq` and `batch`. Empty: none.

    Raises Unavailable when the server did not answer within the retries.
    """
    error: Exception | None = None
    for attempt in range(_RETRIES):
        try:
            return await _read_once(client, stream, query)
        except (NatsError, TimeoutError, _NotReady) as caught:
            error = caught
            await asyncio.sleep(min(0.05 * 2**attempt, 2.0))
    raise Unavailable(f"stream {stream} cannot be read: {error}") from error


class _NotReady(Exception):
    pass


async def _read_once(client: Client, stream: str, query: dict[str, Any]) -> list[Stored]:
    inbox = client.new_inbox()
    queue: asyncio.Queue[Msg] = asyncio.Queue()
    subscription = await client.subscribe(inbox, cb=queue.put)
    try:
        await client.publish(f"$JS.API.DIRECT.GET.{stream}", json.dumps(query).encode(), reply=inbox)
        found: list[Stored] = []
        async with asyncio.timeout(_TIMEOUT):
            while True:
                message = await queue.get()
                headers = message.headers or {}
                status = headers.get("Status")
                if status in {_END, _NONE}:
                    return found
                if status is not None:
                    raise _NotReady(f"status {status}")
                found.append(Stored(int(headers["Nats-Sequence"]), headers["Nats-Subject"], headers, message.data))
    finally:
        await subscription.unsubscribe()
