"""`/v1/conversions` and `/v1/models`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from trainyard.common.contract.views import ConversionPage, ConversionView, ModelPage
from trainyard.job_api import handlers
from trainyard.job_api.adapters.http.bodies import document, reply
from trainyard.job_api.adapters.http.jobs import PROBLEMS, Key
from trainyard.job_api.core.pages import MAX_LIMIT, decode_cursor
from trainyard.job_api.gateway import Gateway

SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ConversionSpec"}}},
    }
}


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1", responses=PROBLEMS)

    @routes.post(
        "/conversions", status_code=201, response_model=ConversionView, openapi_extra=SPEC_BODY, tags=["conversions"]
    )
    async def convert(request: Request, key: Key = None) -> Response:
        """Convert a trained model that lies on this machine."""
        status, view = await handlers.convert(gateway, await document(request), request.state.owner, key)
        return reply(status, view, {"Location": f"/v1/conversions/{view.conversion_id}"})

    @routes.get("/conversions", response_model=ConversionPage, tags=["conversions"])
    async def listing(
        job_id: str | None = None,
        cursor: str | None = None,
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 50,
    ) -> Response:
        """Conversions, newest first."""
        before = decode_cursor(cursor) if cursor else None
        return reply(200, gateway.reads.conversions(job_id=job_id, before=before, limit=limit))

    @routes.get("/conversions/{conversion_id}", response_model=ConversionView, tags=["conversions"])
    async def show(conversion_id: str) -> Response:
        return reply(200, await handlers.find_conversion(gateway, conversion_id))

    @routes.get("/models", response_model=ModelPage, tags=["models"])
    async def models() -> Response:
        """The newest converted model of each name."""
        return reply(200, gateway.reads.models())

    return routes
