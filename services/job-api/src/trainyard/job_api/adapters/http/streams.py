"""`/events` and `/logs`: the same URL gives a page (JSON, text) or a live stream (server-sent events).

A stream resumes where it broke: every message has an id, and the browser (or our SDK) sends the last one back as
`Last-Event-ID`. When there is nothing more to come, a resumed stream is answered with 204, which ends the resuming.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event

from trainyard.common import ids
from trainyard.common.bus.advance import read_head
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.views import EventPage, EventView
from trainyard.common.errors import InvalidInput
from trainyard.common.lifecycle.transitions import RULES
from trainyard.job_api import handlers
from trainyard.job_api.adapters.http.bodies import reply
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.gateway import Gateway

KEEP_ALIVE = 15.0  # seconds; proxies cut a silent connection at about a minute
MAX_EVENTS = 1000
# JetStream cannot read the question when a sequence has more than 64 bits.
After = Annotated[int, Query(ge=0, lt=10**18)]
_ID = re.compile(r"[0-9]{1,18}")
_ENDS = {("conversion", "succeeded"), ("conversion", "failed")} | {
    ("job", kind) for kind, rule in RULES.items() if rule.target is not None and rule.target.terminal
}


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1", responses=PROBLEMS, tags=["streams"])

    @routes.get("/jobs/{job_id}/events", response_model=EventPage)
    async def job_events(
        request: Request,
        job_id: str,
        after: After = 0,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """A job's events as JSON, or live with `Accept: text/event-stream`."""
        await read_head(gateway.log, ids.parse_job_id(job_id))
        return await _events(gateway, request, "job", ids.parse_job_id(job_id), _resume(last_event_id, after))

    @routes.get("/conversions/{conversion_id}/events", response_model=EventPage)
    async def conversion_events(
        request: Request,
        conversion_id: str,
        after: After = 0,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """A conversion's events, likewise."""
        found = await handlers.find_conversion(gateway, conversion_id)
        return await _events(gateway, request, "conversion", found.conversion_id, _resume(last_event_id, after))

    return routes


def wants_stream(request: Request) -> bool:
    return "text/event-stream" in request.headers.get("accept", "")


def _resume(last_event_id: str | None, after: int) -> int:
    if last_event_id is None:
        return after
    if not _ID.fullmatch(last_event_id):
        raise InvalidInput.one(
            f"{last_event_id[:40]!r} is not an id of this stream",
            "Last-Event-ID",
            "send back the id of an event, or none",
        )
    return int(last_event_id)


async def _events(gateway: Gateway, request: Request, entity: str, entity_id: str, after: int) -> Response:
    if wants_stream(request):
        if after and await _has_ended_by(gateway, entity, entity_id, after):
            return Response(status_code=204)
        return StreamingResponse(_live(gateway, entity, entity_id, after), media_type="text/event-stream")
    page: list[EventView] = []
    async for recorded in gateway.log.history(entity, entity_id, after=after):
        page.append(_view(recorded))
        if len(page) == MAX_EVENTS:
            break
    return reply(200, EventPage(events=page))


async def _has_ended_by(gateway: Gateway, entity: str, entity_id: str, seq: int) -> bool:
    last = await gateway.log.latest(entity, entity_id)
    return bool(last) and last[-1].seq <= seq and (entity, last[-1].event.kind) in _ENDS


async def _live(gateway: Gateway, entity: str, entity_id: str, after: int) -> AsyncIterator[bytes]:
    seen = after
    with gateway.changes.watch(entity_id) as watch:
        while True:
            async for recorded in gateway.log.history(entity, entity_id, after=seen):
                seen = recorded.seq
                view = _view(recorded)
                yield format_sse_event(data_str=view.model_dump_json(), event=view.kind, id=str(seen))
                if (entity, view.kind) in _ENDS:
                    return
            if not await watch.wait(seen, KEEP_ALIVE):
                yield format_sse_event(comment="still here")


def _view(recorded: Recorded[Any]) -> EventView:
    return EventView(
        seq=recorded.seq,
        id=recorded.id,
        kind=recorded.event.kind,
        time=recorded.time,
        source=recorded.source,
        data=json.loads(recorded.event.dump()),
    )
