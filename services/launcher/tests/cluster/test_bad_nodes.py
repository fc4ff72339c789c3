"""Nodes that are to blame: a job keeps away from its own, all jobs from those that met several, until it is forgiven.

The node whose pods end badly is chosen by closing the other one for new pods.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.contract.inventory import BUCKET, Node
from trainyard.common.contract.nodes import NodeForgiven
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.core import decide
from trainyard.launcher.core.avoiding.settings import parse

pytestmark = pytest.mark.integration

DISK = "The node was low on resource: ephemeral-storage."
PATCH = "application/merge-patch+json"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decide, "BACKOFF", (0.05,))


def close(cluster: Any, node: str, closed: bool = True) -> None:
    cluster.call("PATCH", f"/api/v1/nodes/{node}", {"spec": {"unschedulable": closed}}, PATCH)


async def under(cluster: Any, rules: str) -> None:
    """The launcher anew, with other rules."""
    await cluster.kill()
    cluster.bad_nodes = parse(rules)
    await cluster.start()


async def runs_on(cluster: Any, job: str, attempt: int) -> str:
    """Where an attempt of one pod runs, once it does."""

    async def look() -> str:
        event = (await cluster.bus.latest("job", job))[-1].event
        there = event.kind == "running" and event.attempt == attempt
        return str(event.ranks[0].node) if there else ""

    return str(await eventually(look, within=60))


def evict(cluster: Any, job: str) -> None:
    """By the kubelet, from a full disk."""
    for pod in cluster.running(job):
        cluster.kubelet.push_out("default", pod, DISK)


async def fails_on(cluster: Any, node: str, **changes: Any) -> Any:
    """A job that ends there, since the node cannot hold it; gives its last event."""
    job = await cluster.submit(retries={"infrastructure": 0}, timeouts={"grace": 1}, **changes)
    assert await runs_on(cluster, job, 1) == node
    evict(cluster, job)
    return await cluster.until(job, "failed")


async def avoided(cluster: Any, name: str, is_so: bool = True) -> Node:
    """The node as it is shown, once it is avoided, or is so no longer."""
    bucket = await cluster.bus.keyvalue(BUCKET)

    async def look() -> Node | None:
        entry = await bucket.get(f"kubernetes.{name}")
        node = Node.parse(entry.value) if entry is not None else None
        return node if node is not None and (node.avoided_until is not None) is is_so else None

    found: Node = await eventually(look, within=20)
    return found


async def test_a_job_goes_on_elsewhere(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    job = await cluster.submit(timeouts={"grace": 1})
    bad = await runs_on(cluster, job, 1)
    evict(cluster, job)
    good = await runs_on(cluster, job, 2)
    assert good != bad
    told = await cluster.seen(job, "restarting")
    assert [(item.node, item.reason) for item in told.blamed] == [(bad, EndReason.EVICTED)]
    assert told.blamed[0].uid == cluster.call("GET", f"/api/v1/nodes/{bad}")["metadata"]["uid"]
    began = [item.event async for item in cluster.bus.history("job", job) if item.event.kind == "starting"]
    assert [[item.node for item in event.avoids] for event in began] == [[], [bad]]
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_without_another_node_the_first_is_taken_again(cluster: Any) -> None:
    """And a launcher that starts in between knows the same."""
    cluster.kubelet.plan(forever())
    job = await cluster.submit(timeouts={"grace": 1})
    first = await runs_on(cluster, job, 1)
    evict(cluster, job)
    second = await runs_on(cluster, job, 2)
    await cluster.kill()
    await cluster.start()
    evict(cluster, job)
    assert await runs_on(cluster, job, 3) == first
    began = [item.event async for item in cluster.bus.history("job", job) if item.event.kind == "starting"]
    assert [item.node for item in began[2].avoids] == [second]
    assert began[2].message.startswith(f"there is no other node: it takes {first} (evicted in an earlier attempt")
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_where_others_have_no_room_it_waits_and_then_takes_it_after_all(cluster: Any) -> None:
    await under(cluster, "wait=2s")
    cluster.kubelet.plan(forever())
    close(cluster, "n1")
    job = await cluster.submit(retries={"infrastructure": 1}, timeouts={"grace": 1})
    assert await runs_on(cluster, job, 1) == "n0"
    evict(cluster, job)
    told = await cluster.seen(job, "pending")
    assert told.reason is EndReason.UNSCHEDULABLE
    assert "avoided: n0 (evicted in an earlier attempt of this job); it waits 2.0 s for others" in told.message
    assert await runs_on(cluster, job, 3) == "n0"
    restarts = [item.event async for item in cluster.bus.history("job", job) if item.event.kind == "restarting"]
    assert [(item.reason, item.budget, item.allowed) for item in restarts] == [
        (EndReason.EVICTED, "infrastructure", ()),
        (EndReason.UNSCHEDULABLE, "none", ("n0",)),
    ]
    assert restarts[1].message.endswith("n0 is avoided no longer")
    assert restarts[1].used == {"infrastructure": 1}
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_three_jobs_hit_by_one_node_keep_the_fourth_away_until_it_is_forgiven(cluster: Any) -> None:
    await cluster.start("b")
    cluster.kubelet.plan(forever())
    close(cluster, "n1")
    for _ in range(3):
        failed = await fails_on(cluster, "n0")
        assert [item.node for item in failed.blamed] == ["n0"]
    close(cluster, "n1", closed=False)
    node = await avoided(cluster, "n0")
    assert node.avoided_for == "3 attempts of 3 jobs ended there within 1 h 0 m: evicted"
    assert node.avoided_until == pytest.approx(time.time() + 6 * 3600, abs=60)
    [told] = [item async for item in cluster.bus.history("node", "n0")]
    assert (told.event.by, told.event.seconds) == ("trainyard", 6 * 3600)
    job = await cluster.submit(timeouts={"grace": 1})
    assert await runs_on(cluster, job, 1) == "n1"
    began = await cluster.seen(job, "starting")
    assert [(item.node, item.why) for item in began.avoids] == [("n0", node.avoided_for)]

    forgiven = NodeForgiven(node="n0", uid=node.uid, number=told.seq, by="ann", message="new disk")
    await cluster.bus.append(forgiven, after=told.seq)
    await avoided(cluster, "n0", is_so=False)
    close(cluster, "n1")
    again = await cluster.submit(timeouts={"grace": 1})
    assert await runs_on(cluster, again, 1) == "n0"
    for running in (job, again):
        await cluster.cancel(running)
        await cluster.until(running, "cancelled")


async def test_a_launcher_that_starts_knows_what_was_avoided_and_judges_what_was_not(cluster: Any) -> None:
    await under(cluster, "jobs=2")
    cluster.kubelet.plan(forever())
    close(cluster, "n1")
    await fails_on(cluster, "n0")
    await cluster.kill()
    await cluster.start()
    await fails_on(cluster, "n0")
    before = await avoided(cluster, "n0")
    await cluster.kill()
    await cluster.start("another")  # which knows nothing but the log
    await asyncio.sleep(2.5)
    assert await avoided(cluster, "n0") == before
    assert len([item async for item in cluster.bus.history("node", "n0")]) == 1


async def test_another_node_under_the_same_name_is_a_good_one(cluster: Any) -> None:
    await under(cluster, "jobs=1")
    cluster.kubelet.plan(forever())
    close(cluster, "n1")
    await fails_on(cluster, "n0")
    before = await avoided(cluster, "n0")
    path, spec = "/api/v1/nodes/n0", NodeSpec("n0")
    port = cluster.call("GET", path)["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"]
    cluster.call("DELETE", path)
    cluster.call("POST", "/api/v1/nodes", spec.document())
    cluster.call("PATCH", f"{path}/status", {"status": spec.status(port)}, PATCH)
    after = await avoided(cluster, "n0", is_so=False)
    assert after.uid != before.uid
    job = await cluster.submit(timeouts={"grace": 1})
    assert await runs_on(cluster, job, 1) == "n0"
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_errors_preemption_and_drained_nodes_speak_against_nobody(cluster: Any) -> None:
    await under(cluster, "jobs=1")
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.2, exit_code=1), labels={"app.kubernetes.io/name": "wrong"})
    wrong = await cluster.submit(name="wrong", timeouts={"grace": 1})
    assert (await cluster.until(wrong, "failed")).blamed == ()
    for reason in ("PreemptionByScheduler", "EvictionByEvictionAPI"):
        job = await cluster.submit(retries={"infrastructure": 0, "preemption": 0}, timeouts={"grace": 1})
        await cluster.until(job, "running")
        cluster.disrupt(job, reason)
        cluster.delete_pods(job)
        assert (await cluster.until(job, "failed")).blamed == ()
    await asyncio.sleep(2.0)
    for name in ("n0", "n1"):
        assert [item async for item in cluster.bus.history("node", name)] == []


async def test_a_code_that_counts_as_infrastructure_blames_the_node_of_its_rank_alone(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.3, exit_code=77), name="*-1-worker-1-*")
    rule = {"codes": [77], "counts_as": "infrastructure"}
    job = await cluster.submit(
        replicas=2, retries={"exit_codes": [rule]}, timeouts={"grace": 1}, kubernetes={"placement": "spread"}
    )
    told = await cluster.seen(job, "restarting")
    where = {rank.rank: rank.node for rank in (await cluster.seen(job, "running")).ranks}
    assert [(item.node, item.reason) for item in told.blamed] == [(where[1], EndReason.ERROR)]
    assert (await cluster.until(job, "running", within=60)).attempt == 2
    assert {rank.node for rank in (await cluster.until(job, "running")).ranks} == {where[0]}
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
