"""What the panel may ask of job-api: templates, and to submit what one of them gives.

It goes through the monitor, so that the page talks to one origin alone. The caller's own token goes along; who may do what
is job-api's to say.
"""

from __future__ import annotations

import json
from urllib.parse import quote

import httpx
from fastapi import APIRouter, Request
from fastapi.responses import Response

from trainyard.common.contract import jobfile, problems

_TIMEOUT = 30.0


class Gateway:
    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._http = httpx.AsyncClient(base_url=url, timeout=_TIMEOUT, trust_env=False, transport=transport)

    async def close(self) -> None:
        await self._http.aclose()

    async def forward(self, path: str, request: Request) -> Response:
        """The same method and body at job-api; its answer as it is."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > jobfile.MAX_BYTES:
                return _problem(413, f"at most {jobfile.MAX_BYTES} bytes are taken")
        headers = {name: request.headers[name] for name in ("authorization", "content-type") if name in request.headers}
        try:
            answer = await self._http.request(request.method, path, content=bytes(body), headers=headers)
        except httpx.TransportError:
            return _problem(503, "job-api does not answer; it is started again by the yard, try once more")
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/api/v1")

    @routes.get("/templates")
    async def templates(request: Request) -> Response:
        return await gateway.forward("/v1/templates", request)

    @routes.get("/templates/{name}")
    async def template(request: Request, name: str) -> Response:
        return await gateway.forward(f"/v1/templates/{_quoted(name)}", request)

    @routes.post("/templates/{name}/render")
    async def render(request: Request, name: str) -> Response:
        return await gateway.forward(f"/v1/templates/{_quoted(name)}/render", request)

    @routes.post("/jobs")
    async def submit(request: Request) -> Response:
        return await gateway.forward("/v1/jobs", request)

    return routes


def _quoted(name: str) -> str:
    return quote(name, safe="")


def _problem(status: int, detail: str) -> Response:
    return Response(json.dumps(problems.problem(status, detail)), status, media_type=problems.MEDIA_TYPE)
