"""`/v1/jobs`: submit, look, cancel, suspend, resize, retry."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response

from trainyard.common.contract.commands import ResizeJob
from trainyard.common.contract.views import JobPage, JobView, ProblemView
from trainyard.job_api import handlers
from trainyard.job_api.adapters.http.bodies import document, reply
from trainyard.job_api.core.pages import JobQuery
from trainyard.job_api.gateway import Gateway

Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same key gives the same job")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemView, "description": text}
    for status, text in {404: "No such job", 409: "Not in this state", 422: "Invalid"}.items()
}
SPEC_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"$ref": "#/components/schemas/JobSpec"}}
            for kind in ("application/json", "application/yaml")
        },
    }
}


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/jobs", tags=["jobs"], responses=PROBLEMS)

    @routes.post("", status_code=201, response_model=JobView, openapi_extra=SPEC_BODY)
    async def submit(request: Request, key: Key = None) -> Response:
        """Submit a job file (JSON or YAML). 201 when the job is durable; 200 when the key made it before."""
        status, view = await handlers.submit(gateway, await document(request), request.state.owner, key)
        return reply(status, view, {"Location": f"/v1/jobs/{view.job_id}"})

    @routes.get("", response_model=JobPage)
    async def listing(query: Annotated[JobQuery, Query()]) -> Response:
        """Jobs, newest first."""
        return reply(200, gateway.reads.jobs(query.parsed()))

    @routes.get("/{job_id}", response_model=JobView)
    async def show(job_id: str) -> Response:
        """One job, with its conversions."""
        return reply(200, await handlers.find_job(gateway, job_id))

    @routes.post("/{job_id}/cancel", status_code=202, response_model=JobView)
    async def cancel(request: Request, job_id: str, message: Annotated[str, Query(max_length=500)] = "") -> Response:
        """End a job. 202 once that is durable; repeat as you like."""
        return reply(*await handlers.cancel(gateway, job_id, request.state.owner, message))

    @routes.delete("/{job_id}", status_code=202, response_model=JobView)
    async def delete(request: Request, job_id: str) -> Response:
        """The same as cancel: the record of a job stays in the log."""
        return reply(*await handlers.cancel(gateway, job_id, request.state.owner))

    @routes.post("/{job_id}/suspend", status_code=202, response_model=JobView)
    async def suspend(request: Request, job_id: str, message: Annotated[str, Query(max_length=500)] = "") -> Response:
        """End a job's processes for now, and free what it holds. 202 once that is durable."""
        return reply(*await handlers.suspend(gateway, job_id, request.state.owner, message))

    @routes.post("/{job_id}/resume", status_code=202, response_model=JobView)
    async def resume(request: Request, job_id: str, message: Annotated[str, Query(max_length=500)] = "") -> Response:
        """Put a suspended job back into the queue; it goes on from its checkpoint."""
        return reply(*await handlers.resume(gateway, job_id, request.state.owner, message))

    @routes.post("/{job_id}/resize", status_code=202, response_model=JobView)
    async def resize(
        request: Request,
        job_id: str,
        replicas: Annotated[int, Query(description="Of the role")],
        role: Annotated[str | None, Query(max_length=63, description="Absent: the only one, or worker")] = None,
        message: Annotated[str, Query(max_length=500)] = "",
    ) -> Response:
        """Another number of replicas. 202 once that is durable; 200 where that many are asked for already."""
        command = ResizeJob(job_id=job_id, replicas=replicas, role=role, message=message)
        return reply(*await handlers.resize(gateway, command, request.state.owner))

    @routes.post("/{job_id}/retry", status_code=201, response_model=JobView)
    async def retry(request: Request, job_id: str, key: Key = None) -> Response:
        """A new job with the spec of one that has ended, at the size that it was to have by then."""
        status, view = await handlers.retry(gateway, job_id, request.state.owner, key)
        return reply(status, view, {"Location": f"/v1/jobs/{view.job_id}"})

    return routes
