"""`/v1/nodes`: the machines that jobs may run on, as launchers tell of them, and which of them jobs keep away from."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from trainyard.common.contract import quantities
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.views import NodePage
from trainyard.common.errors import InvalidInput
from trainyard.job_api import nodes
from trainyard.job_api.adapters.http.bodies import reply
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.gateway import Gateway

Message = Annotated[str, Query(max_length=nodes.LONGEST_MESSAGE)]


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/nodes", tags=["nodes"], responses=PROBLEMS)

    @routes.get("", response_model_exclude_none=True)
    async def show() -> NodePage:
        """Every node with what it has for jobs. Empty until a launcher has told."""
        return NodePage(nodes=await gateway.nodes.all(gateway.clock.now().timestamp()))

    @routes.post("/{name}/avoid", status_code=202, response_model=Node)
    async def avoid(
        request: Request,
        name: str,
        span: Annotated[str, Query(alias="for", description="Such as 90m, 2h, 7d", max_length=20)] = "6h",
        message: Message = "",
    ) -> Response:
        """Let no job begin on a node for a while; what runs there goes on. 202 once that is durable."""
        return reply(*await nodes.avoid(gateway, name, _seconds(span), message, request.state.owner))

    @routes.post("/{name}/forgive", status_code=202, response_model=Node)
    async def forgive(request: Request, name: str, message: Message = "") -> Response:
        """Let jobs begin on a node again, and forget what it was blamed for. 202 once that is durable."""
        return reply(*await nodes.forgive(gateway, name, message, request.state.owner))

    return routes


def _seconds(span: str) -> float:
    try:
        return quantities.seconds(span)
    except ValueError as error:
        raise InvalidInput.one(str(error), "for") from None
