"""`/healthz` (the process lives), `/readyz` (it can do its work, or says why not) and `/metrics`, on every service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from trainyard.common.runtime import metrics

Check = Callable[[], Awaitable[str | None]]
"""None when all is well, else a sentence that says what is missing."""


def application(service: str, checks: dict[str, Check], inner: ASGIApp | None = None) -> Starlette:
    """The ASGI application of a service: its own one (`inner`) below the common paths."""

    async def healthz(_: Request) -> Response:
        return JSONResponse({"service": service, "status": "ok"})

    async def readyz(_: Request) -> Response:
        faults = {name: fault for name, check in checks.items() if (fault := await check()) is not None}
        metrics.UP.labels(service).set(0 if faults else 1)
        status = "unavailable" if faults else "ok"
        return JSONResponse(
            {"service": service, "status": status, "faults": faults}, status_code=503 if faults else 200
        )

    routes: list[BaseRoute] = [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics.endpoint),
    ]
    if inner is not None:
        routes.append(Mount("/", app=inner))
    return Starlette(routes=routes)
