"""The FastAPI application: routes, errors, guard, OpenAPI."""

from __future__ import annotations

from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema
from starlette.types import ASGIApp

from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.templates import RenderRequest, Template
from trainyard.common.runtime.guard import Guard
from trainyard.job_api.adapters.http import (
    conversions,
    jobs,
    logs,
    matrix,
    nodes,
    problems,
    sources,
    streams,
    templates,
)
from trainyard.job_api.gateway import Gateway
from trainyard.job_api.settings import Settings

VERSION = "1"


def routes(gateway: Gateway) -> FastAPI:
    """Without the guard: what the OpenAPI document is generated from."""
    app = FastAPI(title="Trainyard", version=VERSION, redoc_url=None, description=__doc__)
    problems.install(app)
    for part in (jobs, sources, conversions, templates, streams, logs, matrix, nodes):
        app.include_router(part.router(gateway))
    app.openapi = lambda: openapi(app)  # type: ignore[method-assign]
    return app


def create(gateway: Gateway, settings: Settings) -> ASGIApp:
    return Guard(routes(gateway), tokens=settings.tokens, host=settings.host, local_owner=settings.local_owner)


def document() -> dict[str, Any]:
    """The OpenAPI document, without a gateway behind the routes."""
    return openapi(routes(cast("Gateway", None)))


def openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document and the specs, whose bodies we read ourselves."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, routes=app.routes)
        _, definitions = models_json_schema(
            [(model, "validation") for model in (JobSpec, ConversionSpec, Template, RenderRequest)],
            ref_template="#/components/schemas/{model}",
        )
        document["components"]["schemas"].update(definitions["$defs"])
        app.openapi_schema = document
    return app.openapi_schema
