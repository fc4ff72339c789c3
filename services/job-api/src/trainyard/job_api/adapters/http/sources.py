"""`/v1/sources`: folders that jobs bring along, as archives by their digest."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from trainyard.common.contract.sources import MOST
from trainyard.common.contract.views import SourcesView, SourceView
from trainyard.job_api.adapters.http.bodies import read, reply
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.gateway import Gateway

_ZIP: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/zip": {"schema": {"type": "string", "format": "binary", "maxLength": MOST}}},
    }
}


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/sources", tags=["sources"], responses=PROBLEMS)

    @routes.get("", response_model=SourcesView)
    async def terms() -> Response:
        """Whether a job's folder has to be sent."""
        return reply(200, gateway.workdirs.terms)

    @routes.put("", response_model=SourceView, openapi_extra=_ZIP)
    async def send(request: Request) -> Response:
        """Keep a zip of a job's folder; the answer is what the job says in `source`. As often as you like."""
        return reply(200, await gateway.workdirs.take(await read(request, MOST)))

    return routes
