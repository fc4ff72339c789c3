"""Faults that were reported elsewhere, on a cluster. The numbers are rows of their list (tests/architecture)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import Script, forever, run
from trainyard.common.lifecycle.states import EndReason

pytestmark = pytest.mark.integration

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"
TAKEN = "RuntimeError: The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use)."
NOBODY = "a-worker-0.a.default.svc.cluster.local cannot be found by name after 600 s: is DNS of the cluster well?"


async def restarts(cluster: Any, job: str) -> list[Any]:
    return [item.event async for item in cluster.bus.history("job", job) if item.event.kind == "restarting"]


async def test_11_a_lost_node_leaves_the_users_retry_to_the_user(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.2, exit_code=1), name="*-2-worker-*")
    cluster.kubelet.plan(run(0.2), name="*-3-worker-*")
    job = await cluster.submit(retries={"user": 1, "infrastructure": 1}, timeouts={"grace": 1})
    await cluster.until(job, "running")
    cluster.kubelet.lose(next(iter(cluster.nodes(job))))
    cluster.disrupt(job, "DeletionByTaintManager")
    event = await cluster.until(job, "succeeded", "failed", within=60)
    assert (event.kind, event.attempt) == ("succeeded", 3)
    told = await restarts(cluster, job)
    assert [(item.reason, item.budget) for item in told] == [
        (EndReason.NODE_LOST, "infrastructure"),
        (EndReason.ERROR, "user"),
    ]


@pytest.mark.parametrize("shape", ["a role", "several roles"])
async def test_19_the_longest_names_are_taken(cluster: Any, shape: str) -> None:
    role = "r" * 39
    roles = {f"{role}1": {"replicas": 2}} if shape == "a role" else {f"{role}1": {}, f"{role}2": {"replicas": 2}}
    cluster.kubelet.plan(run(0.2))
    job = await cluster.submit(name="9" + "n" * 39, roles=roles)
    event = await cluster.until(job, "succeeded", "failed")
    assert event.kind == "succeeded", event


@pytest.mark.parametrize(
    ("script", "says"),
    [
        pytest.param(run(0.0, exit_code=1, lines=[TAKEN]), "a port was taken meanwhile", id="21"),
        pytest.param(run(0.3, exit_code=75, lines=[NOBODY]), "nothing of the job had begun", id="20"),
    ],
)
async def test_20_and_21_ports_and_names_cost_no_retry_of_the_user(cluster: Any, script: Script, says: str) -> None:
    cluster.kubelet.plan(run(0.2))
    cluster.kubelet.plan(script, name="*-1-worker-*")
    job = await cluster.submit(retries={"user": 0})
    event = await cluster.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2), event
    [told] = await restarts(cluster, job)
    assert told.budget == "infrastructure"
    assert says in told.message


async def test_23_parameter_servers_end_with_those_they_serve(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.5), name="*-worker-*")
    roles = {"ps": {"replicas": 2, "background": True}, "worker": {}}
    job = await cluster.submit(roles=roles, timeouts={"grace": 1})
    assert (await cluster.until(job, "succeeded", "failed")).kind == "succeeded"
    assert cluster.pods(job) == []


async def test_27_a_pod_that_runs_again_after_its_end_moves_nothing(cluster: Any) -> None:
    if cluster.double is None:
        pytest.skip(
            "a real API server refuses to let an ended container run again; only the double takes what is stale"
        )
    cluster.kubelet.plan(run(0.2))
    job = await cluster.submit()
    await cluster.until(job, "succeeded")
    said = await cluster.kinds(job)
    [pod] = cluster.pods(job)
    state = {"name": "job", "state": {"running": {"startedAt": "2026-12-01T10:00:00Z"}}, "ready": True,
             "restartCount": 0, "image": "", "imageID": ""}  # fmt: skip
    patch = {"status": {"phase": "Running", "containerStatuses": [state]}}
    cluster.call("PATCH", f"{PODS}/{pod}/status", patch, "application/merge-patch+json")
    await asyncio.sleep(1.0)
    assert await cluster.kinds(job) == said
    await cluster.kill()
    await cluster.start()
    await asyncio.sleep(1.0)
    assert await cluster.kinds(job) == said


async def test_30_and_32_what_is_somebody_elses_is_left_to_them(cluster: Any) -> None:
    """An object of the name that ours would have: neither taken over nor taken away, and no end of the job."""
    cluster.kubelet.plan(forever())
    job = await cluster.submit(name="mine", timeouts={"grace": 1})
    await cluster.until(job, "running")
    [ours] = cluster.items(JOBS, job)
    name = ours["metadata"]["name"].replace("-1-worker", "-2-worker")
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "job", "image": "registry.example.com/x"}]}}
    foreign = {"metadata": {"name": name}, "spec": {"template": template, "suspend": True}}
    uid = cluster.call("POST", JOBS, {"apiVersion": "batch/v1", "kind": "Job", **foreign})["metadata"]["uid"]
    cluster.delete_pods(job)
    event = await cluster.seen(job, "restarting")
    assert event.budget == "infrastructure"
    await asyncio.sleep(3.0)
    assert (await cluster.kinds(job))[-1] in {"starting", "pending"}
    there = cluster.call("GET", f"{JOBS}/{name}")
    assert (there["metadata"]["uid"], there["spec"]["suspend"]) == (uid, True)
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
    assert cluster.call("GET", f"{JOBS}/{name}")["metadata"]["uid"] == uid
