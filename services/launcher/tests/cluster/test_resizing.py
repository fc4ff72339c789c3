"""Another size for a job of pods: a new attempt with as many."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.contract import events
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.core import pending

pytestmark = pytest.mark.integration

KINDS = ["submitted", "resolved", "starting", "running", "resized", "restarting", "starting", "running", "succeeded"]


def wish(replicas: int) -> dict[str, Any]:
    return {"role": "worker", "before": 2, "replicas": replicas, "by": "ann", "roles": {"worker": replicas}}


@pytest.fixture(autouse=True)
def plan(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "QUIET", 3600.0)
    cluster.kubelet.plan(run(0.2))
    cluster.kubelet.plan(forever(), labels={"trainyard.dev/attempt": "1"})


async def submit(cluster: Any, **changes: Any) -> str:
    job: str = await cluster.submit(**{"framework": "generic", "timeouts": {"grace": 1}, **changes})
    return job


async def test_pods_are_made_anew_in_another_number(cluster: Any) -> None:
    job = await submit(cluster, replicas=2)
    await cluster.until(job, "running")
    await cluster.tell(job, events.JobResized, **wish(4))
    done = await cluster.until(job, "succeeded", "failed")
    assert (done.kind, done.attempt) == ("succeeded", 2)
    assert await cluster.kinds(job) == KINDS
    told = [item.event async for item in cluster.bus.history("job", job)]
    assert [len(event.ranks) for event in told if event.kind == "running"] == [2, 4]
    restarting = next(event for event in told if event.kind == "restarting")
    assert (restarting.reason, restarting.budget, len(restarting.endings)) == ("resized", "none", 2)


async def test_what_the_cluster_could_not_make_is_taken_back(cluster: Any) -> None:
    job = await submit(cluster, framework="mpi", processes=2)
    await cluster.until(job, "running")
    await cluster.tell(job, events.JobResized, **wish(3))
    back = await eventually(lambda: _taken_back(cluster, job))
    assert back.message.startswith("it stays at 1 × worker: framework mpi starts all processes from one pod")
    assert len(cluster.running(job)) == 1


async def _taken_back(cluster: Any, job: str) -> Any:
    event = (await cluster.bus.latest("job", job))[-1].event
    return event if event.kind == "resized" and event.by == "launcher" else None


async def test_two_launchers_make_one_new_group(cluster: Any) -> None:
    await cluster.start("b")
    job = await submit(cluster, replicas=2)
    await cluster.until(job, "running")
    await cluster.tell(job, events.JobResized, **wish(3))
    assert (await cluster.until(job, "succeeded", "failed")).kind == "succeeded"
    assert await cluster.kinds(job) == KINDS
