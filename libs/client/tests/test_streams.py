"""Streams that break, keep silent and end, as the client sees them."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from trainyard.client import streams
from trainyard.common.errors import NotFound, Unavailable


def client(answers: list[Callable[[httpx.Request], httpx.Response]]) -> tuple[httpx.Client, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answers.pop(0)(request)

    return httpx.Client(transport=httpx.MockTransport(answer), base_url="http://x"), seen


def sse(text: str) -> Callable[[httpx.Request], httpx.Response]:
    return lambda _: httpx.Response(200, text=text, headers={"content-type": "text/event-stream"})


def broken(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("connection reset", request=request)


def end(_: httpx.Request) -> httpx.Response:
    return httpx.Response(204)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "RETRY_DELAY", 0)


def test_a_broken_stream_goes_on_behind_the_last_event() -> None:
    http, seen = client(
        [
            sse("id: 1\ndata: a\n\nid: 2\ndata: b\n\n"),
            broken,
            lambda _: httpx.Response(503),
            sse("id: 3\ndata: c\n\n"),
            end,
        ]
    )
    assert [event.data for event in streams.follow(http, "/s", {})] == ["a", "b", "c"]
    assert [request.headers.get("last-event-id") for request in seen] == [None, "2", "2", "2", "3"]


def test_what_keeps_the_connection_alive_is_no_event() -> None:
    http, _ = client([sse("id: 1\ndata: a\n\n: still here\n\n: still here\n\nid: 2\ndata: b\n\n"), end])
    assert [event.data for event in streams.follow(http, "/s", {})] == ["a", "b"]


def test_a_refusal_is_raised_at_once() -> None:
    http, seen = client([lambda _: httpx.Response(404, json={"detail": "no such job"})])
    with pytest.raises(NotFound, match="no such job"):
        list(streams.follow(http, "/s", {}))
    assert len(seen) == 1


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "PATIENCE", -1)
    http, _ = client([broken, broken])
    with pytest.raises(Unavailable, match="nothing answers"):
        list(streams.follow(http, "/s", {}))
