"""What the cluster's events say of a job that waits. Numbers are rows of the list of faults reported elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import Script, run
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration
QUOTA = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "causes", "namespace": "default"}}


@pytest.fixture
async def quota(cluster: Any) -> Any:
    """Sets what the namespace may have at most, and waits until the control plane knows."""

    async def set_to(**hard: str) -> None:
        cluster.apply({**QUOTA, "spec": {"hard": {name.replace("_", "."): value for name, value in hard.items()}}})
        path = "/api/v1/namespaces/default/resourcequotas/causes"

        async def known() -> bool:
            return bool((cluster.call("GET", path).get("status") or {}).get("hard"))

        await eventually(known)

    yield set_to
    cluster.remove("ResourceQuota", "causes")


async def test_22_pods_for_which_there_is_no_room_are_waited_for(cluster: Any, quota: Any) -> None:
    cluster.kubelet.plan(run(0.2))
    await quota(pods="0")
    job = await cluster.submit()
    event = await cluster.seen(job, "pending")
    assert event.reason is EndReason.QUOTA
    assert event.message.startswith("the cluster does not take its pods: exceeded quota: causes, requested: pods=1")
    await quota(pods="10")
    assert (await cluster.until(job, "succeeded", "failed", within=90)).kind == "succeeded"


async def test_22_pods_that_are_never_let_in_end_the_job(cluster: Any, quota: Any) -> None:
    await quota(limits_cpu="1")
    job = await cluster.submit(timeouts={"grace": 1})
    event = await cluster.until(job, "failed")
    assert event.reason is EndReason.REFUSED
    assert "must specify limits.cpu for: job" in event.message
    assert "restarting" not in await cluster.kinds(job)


async def test_a_pod_without_its_volume_says_so(cluster: Any) -> None:
    cluster.kubelet.plan(Script(waiting="ContainerCreating"))
    job = await cluster.submit(timeouts={"grace": 1})
    [pod] = await eventually(lambda: cluster.items("/api/v1/namespaces/default/pods", job))
    name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
    now = pod["metadata"]["creationTimestamp"]
    cluster.call("POST", "/api/v1/namespaces/default/events", {
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{name}.1", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": name, "uid": uid},
        "reason": "FailedMount", "message": 'MountVolume.SetUp failed for volume "x" : secret "y" not found',
        "type": "Warning", "firstTimestamp": now, "lastTimestamp": now, "count": 1,
    })  # fmt: skip

    async def told() -> list[Any]:  # before that, a scheduler may say that it looks for a node
        found = [item.event async for item in cluster.bus.history("job", job) if item.event.kind == "pending"]
        return [event for event in found if event.reason is EndReason.START]

    [event, *_] = await eventually(told, within=30)
    assert 'secret "y" not found' in event.message
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
