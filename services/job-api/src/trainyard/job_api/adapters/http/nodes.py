"""`/v1/nodes`: the machines that jobs may run on, as launchers tell of them."""

from __future__ import annotations

from fastapi import APIRouter

from trainyard.common.contract.views import NodePage
from trainyard.job_api.adapters.http.jobs import PROBLEMS
from trainyard.job_api.gateway import Gateway


def router(gateway: Gateway) -> APIRouter:
    routes = APIRouter(prefix="/v1/nodes", tags=["nodes"], responses=PROBLEMS)

    @routes.get("", response_model_exclude_none=True)
    async def show() -> NodePage:
        """Every node with what it has for jobs. Empty until a launcher has told."""
        return NodePage(nodes=await gateway.nodes.all(gateway.clock.now().timestamp()))

    return routes
