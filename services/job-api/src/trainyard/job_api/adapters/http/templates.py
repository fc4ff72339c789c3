"""`/v1/templates`: look, publish, render, delete."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from trainyard.common.contract.explain import validate
from trainyard.common.contract.templates import RenderRequest
from trainyard.common.contract.views import RenderedView, TemplatePage, TemplateView
from trainyard.job_api import templates
from trainyard.job_api.adapters.http.bodies import document, reply
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.gateway import Gateway


def _body(model: str) -> dict[str, Any]:
    content = {"schema": {"$ref": f"#/components/schemas/{model}"}}
    return {"requestBody": {"required": True, "content": {"application/json": content, "application/yaml": content}}}


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/templates", tags=["templates"], responses=PROBLEMS)

    @routes.get("", response_model=TemplatePage)
    async def listing() -> Response:
        """One entry a name, with the version that the name means and all that there are."""
        return reply(200, await templates.listing(gateway))

    @routes.post("", status_code=201, response_model=TemplateView, openapi_extra=_body("Template"))
    async def publish(request: Request) -> Response:
        """Publish a template (JSON or YAML). A version never changes; 200 when this very one is there already."""
        status, view = await templates.publish(gateway, await document(request), request.state.owner)
        return reply(status, view, {"Location": f"/v1/templates/{view.name}/{view.version}"})

    @routes.get("/{name}", response_model=TemplateView)
    async def show(name: str) -> Response:
        """A template with its parameters: the newest published version, else the one that ships with Trainyard."""
        return reply(200, await templates.find(gateway, name))

    @routes.get("/{name}/{version}", response_model=TemplateView)
    async def show_version(name: str, version: str) -> Response:
        return reply(200, await templates.find(gateway, name, version))

    @routes.post("/{name}/render", response_model=RenderedView, openapi_extra=_body("RenderRequest"))
    async def render(request: Request, name: str) -> Response:
        """The job file that comes of these parameters. Faults point at `/parameters/<name>`."""
        wanted = validate(RenderRequest, await document(request))
        return reply(*await templates.render(gateway, name, wanted.version, wanted.parameters))

    @routes.delete("/{name}", response_model=TemplatePage)
    async def delete(name: str) -> Response:
        """Every published version of the name."""
        return reply(*await templates.delete(gateway, name))

    @routes.delete("/{name}/{version}", response_model=TemplatePage)
    async def delete_version(name: str, version: str) -> Response:
        return reply(*await templates.delete(gateway, name, version))

    return routes
