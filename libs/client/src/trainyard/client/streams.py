"""Server-sent events that survive a broken connection: the last id is sent back until the gateway says 204."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
from httpx_sse import EventSource, ServerSentEvent

from trainyard.client.answers import raise_for_problem, unreachable
from trainyard.common.errors import Unavailable

RETRY_DELAY = 0.5  # seconds between two tries
PATIENCE = 60.0  # seconds without any answer after which we give up


@dataclass(slots=True)
class Resume:
    """What is known of a stream across its connections."""

    last_id: str | None = None
    broken_since: float | None = None

    def headers(self) -> dict[str, str]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        return {**headers, "Last-Event-ID": self.last_id} if self.last_id else headers

    def saw(self, event: ServerSentEvent) -> None:
        self.broken_since = None
        if event.id:
            self.last_id = event.id

    def broke(self, url: str, error: httpx.TransportError | Unavailable, now: float) -> None:
        """Raises Unavailable when it has been broken for too long."""
        self.broken_since = self.broken_since or now
        if now - self.broken_since > PATIENCE:
            raise error if isinstance(error, Unavailable) else unreachable(url, error)


def follow(http: httpx.Client, path: str, params: dict[str, Any]) -> Iterator[ServerSentEvent]:
    """Every event once, until the gateway ends the stream for good."""
    resume = Resume()
    while True:
        try:
            with http.stream("GET", path, params=params, headers=resume.headers(), timeout=_timeout()) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                if not response.is_success:
                    response.read()
                raise_for_problem(response)
                for event in EventSource(response).iter_sse():
                    resume.saw(event)
                    if event.data:  # a comment that keeps the connection alive comes as an event without any
                        yield event
        except (httpx.TransportError, Unavailable) as error:
            resume.broke(str(http.base_url), error, time.monotonic())
            time.sleep(RETRY_DELAY)


async def follow_async(http: httpx.AsyncClient, path: str, params: dict[str, Any]) -> AsyncIterator[ServerSentEvent]:
    resume = Resume()
    while True:
        try:
            async with http.stream(
                "GET", path, params=params, headers=resume.headers(), timeout=_timeout()
            ) as response:
                if response.status_code == httpx.codes.NO_CONTENT:
                    return
                if not response.is_success:
                    await response.aread()
                raise_for_problem(response)
                async for event in EventSource(response).aiter_sse():
                    resume.saw(event)
                    if event.data:  # a comment that keeps the connection alive comes as an event without any
                        yield event
        except (httpx.TransportError, Unavailable) as error:
            resume.broke(str(http.base_url), error, time.monotonic())
            await anyio.sleep(RETRY_DELAY)


def _timeout() -> httpx.Timeout:
    # The gateway says something at least every 15 s; twice that in silence is a dead connection.
    return httpx.Timeout(10.0, read=35.0)
