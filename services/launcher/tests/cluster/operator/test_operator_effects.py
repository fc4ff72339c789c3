"""An operator that is killed at any effect: right after a request to the API server or the gateway, before it learns of it.

The next one, or another one beside it, brings the resource to its end: one job, cancelled once, nothing left of either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever
from trainyard.common.contract.commands import CancelJob, SubmitJob
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import api, members

pytestmark = pytest.mark.integration

EFFECTS = ("finalizer", "submit", "job id", "running", "cancel", "released")
"""What an operator does of a resource that is applied and, once its job runs, deleted. Other states are told as they come."""
LIFE = ["submitted", "resolved", "starting", "running", "cancelling", "cancelled"]


who: ContextVar[str] = ContextVar("who", default="")
"""The launcher whose task this is."""


class Witness:
    """Sees every effect of the operators, and lets the one die that had a certain one first."""

    def __init__(self, at: str) -> None:
        self._at = at
        self.seen: list[str] = []
        self.dead: str | None = None
        self.died = asyncio.Event()

    def around(self, effect: Callable[..., Any], name: Callable[..., str]) -> Callable[..., Any]:
        async def witnessed(*args: Any, **kwargs: Any) -> Any:
            if self.dead == who.get():
                await asyncio.Event().wait()  # a dead launcher does nothing more
            result = await effect(*args, **kwargs)
            self.seen.append(name(*args))
            if self.seen[-1] == self._at and self.dead is None:
                self.dead = who.get()
                self.died.set()
                await asyncio.Event().wait()
            return result

        return witnessed

    def watch(self, cluster: Any, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(api.Api, "call", self.around(api.Api.call, called))
        patch.setattr(cluster.bus, "request", self.around(cluster.bus.request, requested))


def called(_: api.Api, method: str, path: str, query: Any = None, body: Any = None, *__: Any) -> str:
    del query
    if method == "GET" or "/trainingjobs/" not in path:
        return "another's"
    if not path.endswith("/status"):
        return "finalizer" if body["metadata"]["finalizers"] else "released"
    told = body["status"]
    return "job id" if set(told) == {"jobId", "state"} else str(told["state"])


def requested(command: Any) -> str:
    return {SubmitJob: "submit", CancelJob: "cancel"}[type(command)]


async def life(gateway: Any) -> None:
    """Of a resource, as somebody with kubectl sees it."""
    gateway.apply()
    await gateway.state("running")
    gateway.remove()
    await gateway.nothing_left()


async def start(cluster: Any, member: str) -> None:
    who.set(member)
    await cluster.start(member)


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("effect", EFFECTS)
async def test_killed_after_an_effect(
    cluster: Any, gateway: Any, monkeypatch: pytest.MonkeyPatch, effect: str, beside: bool
) -> None:
    monkeypatch.setattr(members, "RENEW", 0.3)
    monkeypatch.setattr(members, "DEAD_AFTER", 2.0)
    await cluster.kill()
    witness = Witness(effect)
    witness.watch(cluster, monkeypatch)
    cluster.kubelet.plan(forever())
    for member in ("a", "b") if beside else ("a",):
        await start(cluster, member)
    living = asyncio.create_task(life(gateway))
    await asyncio.wait_for(witness.died.wait(), timeout=30)
    await cluster.kill(witness.dead)
    if not beside:
        await start(cluster, "c")
    await living
    [job] = gateway.jobs.values()
    assert await cluster.kinds(job) == LIFE
    await eventually(lambda: not cluster.pods(job))


async def test_no_effect_is_left_out(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    witness = Witness("")
    with pytest.MonkeyPatch.context() as patch:
        witness.watch(cluster, patch)
        await life(gateway)
        await eventually(lambda: "released" in witness.seen)  # its answer may come later than what it does can be seen
    states = {"another's", "submitted", "resolved", "queued", "starting", "cancelling", "cancelled"}
    assert set(witness.seen) - states == set(EFFECTS)
