"""`/v1/jobs/{id}/logs`: what the ranks wrote, as text or as a live stream.

A streamed event holds up to a hundred lines; its id is the cursor of the whole stream behind them: the attempt, and the
offset of every rank. A stream ends when the job has ended and every rank has been read to its end; attempts follow one
another in the same stream.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event

from trainyard.common import ids
from trainyard.common.bus.advance import read_head
from trainyard.common.errors import InvalidInput, NotFound
from trainyard.common.logs.reader import Line, LogStore
from trainyard.job_api import handlers
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.adapters.http.streams import KEEP_ALIVE, wants_stream
from trainyard.job_api.gateway import Gateway

LINES = 100  # in one event at most; an event a line would cost both sides ten times as much
POLL = 0.2  # seconds between two looks at a growing log
_CURSOR = re.compile(r"[1-9][0-9]{0,8}(;[0-9]{1,9}=[0-9]{1,18})*")


@dataclass(slots=True)
class Cursor:
    """Where a stream stands. Text: `2;0=120;1=64` is attempt 2, rank 0 read up to 120, rank 1 up to 64."""

    attempt: int
    offsets: dict[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return ";".join([str(self.attempt), *(f"{rank}={offset}" for rank, offset in sorted(self.offsets.items()))])

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """Raises InvalidInput for what we cannot have given: an attempt far below the first would be counted up from."""
        if not _CURSOR.fullmatch(text):
            raise InvalidInput.one(
                f"{text[:60]!r} is not a cursor of a log", "Last-Event-ID", "send back the id of an event, or none"
            )
        attempt, *pairs = text.split(";")
        offsets = dict(pair.split("=") for pair in pairs)
        return cls(int(attempt), {int(rank): int(offset) for rank, offset in offsets.items()})


@dataclass(frozen=True, slots=True)
class Wanted:
    job_id: str
    ranks: tuple[int, ...]
    """Empty: all."""
    attempt: int | None
    tail: int | None


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["streams"])

    @routes.get("/jobs/{job_id}/logs", response_class=Response)
    async def logs(
        request: Request,
        job_id: str,
        rank: Annotated[list[int] | None, Query(description="Repeat for several; default: all")] = None,
        attempt: Annotated[int | None, Query(ge=1, description="Default: the newest")] = None,
        tail: Annotated[int | None, Query(ge=0, le=100_000, description="Only the last lines of each rank")] = None,
        follow: Annotated[bool, Query(description="Go on until the job has ended")] = False,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """What the ranks wrote: text, or server-sent events with `Accept: text/event-stream`."""
        head, _ = await read_head(gateway.log, ids.parse_job_id(job_id))
        wanted = Wanted(head.job_id, tuple(rank or ()), attempt, tail)
        _check(gateway.logs, wanted)
        cursor = Cursor.parse(last_event_id) if last_event_id else _start(gateway.logs, wanted)
        if wants_stream(request):
            if last_event_id and head.terminal and not any(True for _ in _new_lines(gateway.logs, wanted, cursor)):
                return Response(status_code=204)
            if last_event_id:
                cursor = Cursor.parse(last_event_id)
            return StreamingResponse(_live(gateway, wanted, cursor, follow), media_type="text/event-stream")
        return StreamingResponse(_text(gateway.logs, wanted, cursor), media_type="text/plain; charset=utf-8")

    return routes


def _check(store: LogStore, wanted: Wanted) -> None:
    attempts = store.attempts(wanted.job_id)
    if wanted.attempt is not None and wanted.attempt not in attempts:
        known = ", ".join(str(item) for item in attempts) or "none yet"
        raise NotFound(f"job {wanted.job_id} has no logs of attempt {wanted.attempt} (there are: {known})")
    there = store.ranks(wanted.job_id, wanted.attempt or (attempts[-1] if attempts else 1))
    missing = [rank for rank in wanted.ranks if there and rank not in there]
    if missing:
        raise NotFound(f"job {wanted.job_id} has no rank {missing[0]} (there are: {', '.join(map(str, there))})")


def _start(store: LogStore, wanted: Wanted) -> Cursor:
    attempts = store.attempts(wanted.job_id)
    cursor = Cursor(wanted.attempt or (attempts[-1] if attempts else 1))
    if wanted.tail is not None:
        for rank in _ranks(store, wanted, cursor):
            cursor.offsets[rank] = store.tail(wanted.job_id, cursor.attempt, rank, wanted.tail)
    return cursor


def _ranks(store: LogStore, wanted: Wanted, cursor: Cursor) -> list[int]:
    there = store.ranks(wanted.job_id, cursor.attempt)
    return [rank for rank in there if rank in wanted.ranks] if wanted.ranks else there


def _new_lines(store: LogStore, wanted: Wanted, cursor: Cursor) -> Iterator[list[dict[str, Any]]]:
    """What is new in every rank, some lines at a time; the cursor stands behind what was given."""
    for rank in _ranks(store, wanted, cursor):
        chunk = store.read(wanted.job_id, cursor.attempt, rank, cursor.offsets.get(rank, 0))
        if chunk.missing:
            yield [
                {"rank": rank, "attempt": cursor.attempt, "gap": f"{chunk.missing} bytes of rank {rank} were dropped"}
            ]
        for start in range(0, len(chunk.lines), LINES):
            lines = chunk.lines[start : start + LINES]
            cursor.offsets[rank] = lines[-1].end
            yield [_document(cursor.attempt, rank, line) for line in lines]
        cursor.offsets[rank] = chunk.next


def _document(attempt: int, rank: int, line: Line) -> dict[str, Any]:
    return {"rank": rank, "attempt": attempt, "stream": line.stream, "time": line.time, "text": line.text}


async def _live(gateway: Gateway, wanted: Wanted, cursor: Cursor, follow: bool) -> AsyncIterator[bytes]:
    silent = 0.0
    while True:
        # Asked before reading: what is written until the end of the job is read after it.
        ended = (await handlers.find_job(gateway, wanted.job_id)).state.terminal
        told = False
        for lines in _new_lines(gateway.logs, wanted, cursor):
            told = True
            yield format_sse_event(data_str=json.dumps(lines), event="lines", id=str(cursor))
            await asyncio.sleep(0)  # a long log must not keep the others waiting
        if told:
            silent = 0.0
            continue
        if wanted.attempt is None and cursor.attempt < max(gateway.logs.attempts(wanted.job_id), default=0):
            cursor.attempt, cursor.offsets = cursor.attempt + 1, {}
            continue
        if ended or not follow:
            yield format_sse_event(event="end", data_str=json.dumps({"end": True}), id=str(cursor))
            return
        if silent >= KEEP_ALIVE:
            silent = 0.0
            yield format_sse_event(comment="still here")
        await asyncio.sleep(POLL)
        silent += POLL


async def _text(store: LogStore, wanted: Wanted, cursor: Cursor) -> AsyncIterator[str]:
    several = len(_ranks(store, wanted, cursor)) > 1
    while True:
        told = False
        for lines in _new_lines(store, wanted, cursor):
            told = True
            yield "".join(_plain(line, several) for line in lines)
            await asyncio.sleep(0)
        if not told:
            return


def _plain(line: dict[str, Any], several: bool) -> str:
    prefix = f"[{line['rank']}] " if several else ""
    return f"{prefix}{line.get('text', line.get('gap'))}\n"
