"""`/v1/matrix`: what fits what, and what the matrix makes of a job file. The matrix service answers; this passes it on."""

from __future__ import annotations

import json

from fastapi import APIRouter, Request
from fastapi.responses import Response

from trainyard.common.contract import problems
from trainyard.common.contract.commands import Answer, ResolveJob, ShowMatrix
from trainyard.common.contract.views import ExplanationView, MatrixView
from trainyard.job_api.adapters.http.bodies import document
from trainyard.job_api.adapters.http.jobs import PROBLEMS, SPEC_BODY
from trainyard.job_api.gateway import Gateway


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/matrix", tags=["matrix"], responses=PROBLEMS)

    @routes.get("", response_model=MatrixView)
    async def show(framework: str | None = None) -> Response:
        """The facts with their sources, the images, and what nobody knows."""
        return _passed_on(await gateway.commands.request(ShowMatrix(framework=framework)))

    @routes.post("/resolve", response_model=ExplanationView, openapi_extra=SPEC_BODY)
    async def resolve(request: Request, anywhere: bool = False) -> Response:
        """What a job file would be resolved to, and why, or why not. Nothing is submitted. `anywhere`: whatever nodes this
        yard has."""
        command = ResolveJob(spec=await document(request), anywhere=anywhere)
        return _passed_on(await gateway.commands.request(command))

    return routes


def _passed_on(answer: Answer) -> Response:
    kind = "application/json" if answer.status < 400 else problems.MEDIA_TYPE
    return Response(json.dumps(answer.body, ensure_ascii=False), answer.status, media_type=kind)
