"""Every error as RFC 9457 problem details, whoever raised it."""

from __future__ import annotations

import json
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from trainyard.common.contract import problems
from trainyard.common.errors import InvalidInput, Problem, Retryable, TrainyardError

log = structlog.get_logger()


def respond(body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status_code=body["status"], media_type=problems.MEDIA_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    @app.exception_handler(TrainyardError)
    async def _ours(request: Request, error: TrainyardError) -> Response:
        headers = {"Retry-After": str(max(1, round(error.delay)))} if isinstance(error, Retryable) else None
        body = problems.of_error(error)
        if body["status"] >= 500:
            log.warning("request failed", path=request.url.path, error=str(error))
        return respond({**body, "instance": request.url.path}, headers)

    @app.exception_handler(RequestValidationError)
    async def _parameters(request: Request, error: RequestValidationError) -> Response:
        faults = [Problem(str(item["msg"]), str(item["loc"][-1])) for item in error.errors()]
        return respond({**problems.of_error(InvalidInput(faults)), "instance": request.url.path})

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        detail = {404: f"there is nothing at {request.url.path}", 405: f"{request.method} is not possible here"}
        text = detail.get(error.status_code, str(error.detail))
        return respond(problems.problem(error.status_code, text), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> Response:
        log.error("unexpected error", path=request.url.path, exc_info=error)
        return respond(problems.problem(500, "an unexpected error, which is in the log of job-api"))
