"""The pages and what they read: a snapshot, a stream of snapshots, the reports of conversions, the matrix."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from fastapi.sse import format_sse_event

from trainyard.common import ids
from trainyard.common.contract import problems
from trainyard.common.contract.commands import Answer
from trainyard.common.errors import TrainyardError
from trainyard.monitor.core.fleet import Fleet

INTERVAL = 0.5  # seconds between two looks for a change
KEEP_ALIVE = 15.0
# The page brings everything along; a report is a file that somebody's model wrote names into.
PAGE_POLICY = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
_PAGES = {"/": "panel.html", "/matrix": "matrix.html", "/templates": "templates.html"}
_TYPES = {
    "panel.js": "text/javascript",
    "matrix.js": "text/javascript",
    "panel.css": "text/css",
    "templates.js": "text/javascript",
    "templates.css": "text/css",
}


def create(fleet: Fleet, view: Callable[[], dict[str, Any]], matrix: Callable[[], Awaitable[Answer]]) -> FastAPI:
    """`matrix` asks the matrix service for its facts."""
    app = FastAPI(title="Trainyard monitor", docs_url=None, redoc_url=None, openapi_url=None)

    @app.exception_handler(TrainyardError)
    async def _problem(_: object, error: TrainyardError) -> Response:
        body = problems.of_error(error)
        return JSONResponse(body, body["status"], media_type=problems.MEDIA_TYPE)

    @app.exception_handler(404)
    async def _nothing_there(request: Request, _: Exception) -> Response:
        body = problems.problem(404, f"there is no {request.url.path}")
        return JSONResponse(body, 404, media_type=problems.MEDIA_TYPE)

    _add_pages(app)

    @app.get("/api/fleet")
    async def fleet_now() -> Response:
        return JSONResponse(view())

    @app.get("/api/fleet/stream")
    async def fleet_stream() -> Response:
        return StreamingResponse(_snapshots(fleet, view), media_type="text/event-stream")

    @app.get("/reports/{conversion_id}")
    async def report(conversion_id: str) -> Response:
        found = fleet.conversions.get(ids.parse_conversion_id(conversion_id))
        path = Path(found.report_html) if found is not None and found.report_html else None
        if path is None or not path.is_file():
            return JSONResponse(
                problems.problem(404, f"there is no report of {conversion_id}"), 404, media_type=problems.MEDIA_TYPE
            )
        return FileResponse(path, media_type="text/html", headers={"Content-Security-Policy": REPORT_POLICY})

    @app.get("/api/matrix")
    async def matrix_facts() -> Response:
        answer = await matrix()
        return JSONResponse(answer.body, answer.status)

    return app


def _add_pages(app: FastAPI) -> None:
    @app.get("/")
    @app.get("/matrix")
    @app.get("/templates")
    async def page(request: Request) -> Response:
        return HTMLResponse(_static(_PAGES[request.url.path]), headers={"Content-Security-Policy": PAGE_POLICY})

    @app.get("/static/{name}")
    async def static(name: str) -> Response:
        if name not in _TYPES:
            return JSONResponse(problems.problem(404, f"there is no {name}"), 404, media_type=problems.MEDIA_TYPE)
        return Response(_static(name), media_type=_TYPES[name], headers={"Cache-Control": "no-cache"})


async def _snapshots(fleet: Fleet, view: Callable[[], dict[str, Any]]) -> AsyncIterator[bytes]:
    """A snapshot whenever something has changed, at most one each INTERVAL."""
    sent, silent = -1, 0.0
    while True:
        if fleet.version != sent:
            sent, silent = fleet.version, 0.0
            yield format_sse_event(data_str=json.dumps(view()), id=str(sent))
        elif silent >= KEEP_ALIVE:
            silent = 0.0
            yield format_sse_event(comment="still here")
        await asyncio.sleep(INTERVAL)
        silent += INTERVAL


def _static(name: str) -> bytes:
    return resources.files("trainyard.monitor").joinpath("static", name).read_bytes()
