"""A launcher that is killed at any effect: right after each write to the cluster or to the log, before it learns of it.

The next one ends the job with one set of objects and a log without gap or double.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.contract import events
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import api
from trainyard.launcher.core import decide, pending

pytestmark = pytest.mark.integration

EFFECTS = 18
"""Writes of a job of two roles whose first attempt fails in one of them: what is made, noted, deleted, and told."""


RESIZING = 11
"""Writes of such a job that is resized once: the old group's note and deletions, the new one's objects, what is told."""


class Counter:
    """Counts effects, and lets the launcher die right after one of them."""

    def __init__(self, at: int) -> None:
        self._at = at
        self.count = 0
        self.died = asyncio.Event()

    def around(self, effect: Callable[..., Any], *, writes: bool = False) -> Callable[..., Any]:
        """`writes`: of the requests to the API server only those that change something of a job."""

        async def counted(*args: Any, **kwargs: Any) -> Any:
            if writes and (args[1] == "GET" or "/leases" in args[2]):
                return await effect(*args, **kwargs)
            if self.died.is_set():
                await asyncio.Event().wait()  # a dead launcher does nothing more
            self.count += 1
            result = await effect(*args, **kwargs)
            if self.count == self._at:
                self.died.set()
                await asyncio.Event().wait()
            return result

        return counted


@pytest.fixture
def plan(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "BACKOFF", (0.05,))
    monkeypatch.setattr(pending, "QUIET", 3600.0)
    cluster.kubelet.plan(run(0.2))
    cluster.kubelet.plan(forever(), labels={"trainyard.dev/attempt": "1"})
    cluster.kubelet.plan(run(0.2, exit_code=1), labels={"trainyard.dev/attempt": "1", "trainyard.dev/role": "reader"})


async def submit(cluster: Any, counter: Counter, patch: pytest.MonkeyPatch) -> str:
    roles: dict[str, Any] = {"reader": {}, "writer": {}}
    job: str = await cluster.submit(framework="generic", roles=roles, retries={"user": 1}, timeouts={"grace": 1})
    patch.setattr(cluster.bus, "append", counter.around(cluster.bus.append))
    return job


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize("at", range(1, EFFECTS + 1))
async def test_killed_after_an_effect(cluster: Any, at: int) -> None:
    counter = Counter(at)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api.Api, "call", counter.around(api.Api.call, writes=True))
        job = await submit(cluster, counter, patch)
        await eventually(counter.died.is_set, within=30)
        await cluster.kill()
    await cluster.start()
    event = await cluster.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2)
    assert await cluster.kinds(job) == [
        "submitted", "resolved", "starting", "running", "restarting", "starting", "running", "succeeded",
    ]  # fmt: skip
    if cluster.double is not None:
        made = [name for kind, name in cluster.objects(job) if kind == "Job"]
        assert sorted(made) == sorted(set(made))
        assert len([name for name in made if "-2-" in name]) == 2


@pytest.mark.usefixtures("plan")
async def test_no_effect_is_left_out(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(0)
    monkeypatch.setattr(api.Api, "call", counter.around(api.Api.call, writes=True))
    job = await submit(cluster, counter, monkeypatch)
    await cluster.until(job, "succeeded", "failed")
    assert counter.count == EFFECTS


@pytest.fixture
def resized(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "QUIET", 3600.0)
    cluster.kubelet.plan(run(0.2))
    cluster.kubelet.plan(forever(), labels={"trainyard.dev/attempt": "1"})


async def resize(cluster: Any, counter: Counter, patch: pytest.MonkeyPatch) -> str:
    roles: dict[str, Any] = {"reader": {}, "writer": {"replicas": 2}}
    job: str = await cluster.submit(framework="generic", roles=roles, timeouts={"grace": 1})
    await cluster.until(job, "running")
    size = {"role": "writer", "before": 2, "replicas": 1, "roles": {"writer": 1}}
    await cluster.tell(job, events.JobResized, by="ann", **size)
    patch.setattr(cluster.bus, "append", counter.around(cluster.bus.append))
    return job


@pytest.mark.usefixtures("resized")
@pytest.mark.parametrize("at", range(1, RESIZING + 1))
async def test_killed_after_an_effect_of_a_resize(cluster: Any, at: int) -> None:
    counter = Counter(at)
    with pytest.MonkeyPatch.context() as patch:
        job = await resize(cluster, counter, patch)
        patch.setattr(api.Api, "call", counter.around(api.Api.call, writes=True))
        await eventually(counter.died.is_set, within=30)
        await cluster.kill()
    await cluster.start()
    event = await cluster.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2)
    assert await cluster.kinds(job) == [
        "submitted", "resolved", "starting", "running", "resized", "restarting", "starting", "running", "succeeded",
    ]  # fmt: skip
    if cluster.double is not None:
        made = [name for kind, name in cluster.objects(job) if kind == "Job"]
        assert sorted(made) == sorted(set(made))
        assert len([name for name in made if "-2-" in name]) == 2


@pytest.mark.usefixtures("resized")
async def test_no_effect_of_a_resize_is_left_out(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Counter(0)
    job = await resize(cluster, counter, monkeypatch)
    monkeypatch.setattr(api.Api, "call", counter.around(api.Api.call, writes=True))
    await cluster.until(job, "succeeded", "failed")
    assert counter.count == RESIZING
