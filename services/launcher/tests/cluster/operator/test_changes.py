"""A TrainingJob that is changed: other replicas resize its job, anything else is refused in words, and the job goes on."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from trainyard.cluster_double.kubelet.script import forever
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration


async def answer(cluster: Any, generation: int) -> dict[str, Any]:
    """What the resource says of its spec, once this generation of it was looked at."""
    path = "/apis/trainyard.dev/v1alpha1/namespaces/default/trainingjobs/digits"

    def look() -> Any:
        status = cluster.call("GET", path)["status"]
        if status.get("observedGeneration") != generation:
            return None
        return next((item for item in status["conditions"] if item["type"] == "UpToDate"), None)

    found: dict[str, Any] = await eventually(look, within=30)
    return found


async def test_other_replicas_are_a_resize(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    gateway.apply(replicas=2)
    job = (await gateway.state("running"))["jobId"]
    gateway.apply(replicas=3)
    said = await answer(cluster, 2)
    assert (said["status"], said["reason"]) == ("True", "Resized")
    await eventually(lambda: len(cluster.running(job)) == 3, within=30)
    assert gateway.resizes == [("worker", 3)]
    assert (await gateway.state("running"))["attempt"] == 2


async def test_any_other_change_is_refused_and_the_job_goes_on(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    gateway.apply(replicas=2)
    job = (await gateway.state("running"))["jobId"]
    gateway.apply(replicas=3, command="python other.py")
    said = await answer(cluster, 2)
    assert said["status"] == "False"
    assert said["message"].startswith("spec.command changed, and the job goes on as it was submitted")
    with pytest.raises(httpx.HTTPStatusError, match="422"):
        gateway.apply(replicas=2, priority=7)
    gateway.apply(replicas=2)
    assert (await answer(cluster, 3))["status"] == "True"
    assert gateway.resizes == []
    assert (len(cluster.running(job)), await cluster.kinds(job)) == (
        2,
        ["submitted", "resolved", "starting", "running"],
    )


async def test_a_size_that_cannot_be_is_refused_in_the_gateways_words(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    elastic = {"name": "pytorch", "mode": "torchrun", "elastic": {"max_replicas": 2}}
    gateway.apply(replicas=2, framework=elastic)
    await gateway.state("running")
    gateway.apply(replicas=3, framework=elastic)
    said = await answer(cluster, 2)
    assert (said["status"], "max_replicas is 2, and this would make 3" in said["message"]) == ("False", True)
