"""`kubectl apply` of a TrainingJob: the same job as over HTTP, its status, and its end when the resource is deleted."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import pytest_asyncio

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common import ids
from trainyard.common.bus.port import Request
from trainyard.common.contract import crd, events
from trainyard.common.contract.commands import Answer, CancelJob, SubmitJob
from trainyard.common.contract.explain import validate
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration
MERGE = "application/merge-patch+json"
IMAGE = "registry.example.com/pytorch@sha256:" + "a" * 64
PATH = "/apis/trainyard.dev/v1alpha1/namespaces/default/trainingjobs"


class Gateway:
    """The gateway's part: it validates, knows a key again, and the matrix answers at once."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self.jobs: dict[str, str] = {}
        self.owners: set[str | None] = set()

    async def submit(self, request: Request) -> Answer:
        command = request.command
        assert isinstance(command, SubmitJob)
        spec = validate(JobSpec, command.spec)
        key = str(command.idempotency_key)
        self.owners.add(command.owner)
        if key not in self.jobs:
            job = self.jobs[key] = ids.new_job_id()
            bus = self._cluster.bus
            seq = await bus.append(events.JobSubmitted(job_id=job, spec=spec), after=0)
            resolution = events.Resolution(image="pytorch", reference=IMAGE)
            await bus.append(events.JobResolved(job_id=job, spec=spec, resolution=resolution), after=seq)
        return Answer(status=201, body={"job_id": self.jobs[key], "state": "submitted"})

    async def cancel(self, request: Request) -> Answer:
        assert isinstance(request.command, CancelJob)
        await self._cluster.cancel(request.command.job_id)
        return Answer(status=202, body={})


@pytest_asyncio.fixture
async def gateway(cluster: Any) -> Gateway:
    made = Gateway(cluster)
    cluster.apply(crd.document())
    await eventually(lambda: there(cluster))
    for item in cluster.call("GET", PATH)["items"]:  # of an earlier run, on a control plane that stays
        cluster.call("PATCH", f"{PATH}/{item['metadata']['name']}", {"metadata": {"finalizers": []}}, MERGE)
        cluster.remove("TrainingJob", item["metadata"]["name"])
    await cluster.bus.serve({"job.submit": made.submit, "job.cancel": made.cancel})
    await cluster.kill()
    await cluster.start()  # a launcher looks once, when it starts, whether the resource exists
    return made


def there(cluster: Any) -> bool:
    """Whether the API server serves the resource already."""
    try:
        cluster.call("GET", PATH)
    except httpx.HTTPStatusError:
        return False
    return True


def resource(name: str = "digits", **spec: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"framework": "pytorch", "command": "python train.py", "timeouts": {"grace": 1}}
    return {
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**base, **spec},
    }


async def state(cluster: Any, wanted: str, name: str = "digits") -> dict[str, Any]:
    def look() -> Any:
        status = cluster.call("GET", f"{PATH}/{name}").get("status", {})
        return status if status.get("state") == wanted else None

    try:
        found: dict[str, Any] = await eventually(look, within=30)
    except AssertionError:
        raise AssertionError(cluster.call("GET", f"{PATH}/{name}").get("status")) from None
    return found


def true(status: dict[str, Any]) -> set[str]:
    return {item["type"] for item in status["conditions"] if item["status"] == "True"}


async def test_an_applied_resource_runs_to_its_end(cluster: Any, gateway: Gateway) -> None:
    cluster.kubelet.plan(forever())
    cluster.apply(resource(replicas=2))
    status = await state(cluster, "running")
    assert true(status) == {"Accepted", "Running"}
    for pod in cluster.pods(status["jobId"]):
        cluster.kubelet.finish("default", pod)
    status = await state(cluster, "succeeded")
    assert true(status) == {"Accepted", "Complete"}
    assert status["framework"] == "pytorch"
    assert status["startedAt"] <= status["endedAt"]
    assert gateway.owners == {"kubernetes/default"}
    assert await cluster.kinds(status["jobId"]) == [
        "submitted", "resolved", "starting", "running", "succeeded",
    ]  # fmt: skip


async def test_what_is_wrong_is_said_in_the_resource(cluster: Any, gateway: Gateway) -> None:
    cluster.apply(resource(framework="pytroch"))
    status = await state(cluster, "rejected")
    assert "pytorch" in status["message"]
    assert true(status) == set()
    assert gateway.jobs == {}


async def test_pods_stand_in_the_resources_namespace_only(cluster: Any, gateway: Gateway) -> None:
    cluster.apply(resource(kubernetes={"namespace": "kube-system"}))
    status = await state(cluster, "rejected")
    assert "stand in its own namespace 'default'" in status["message"]
    assert gateway.jobs == {}


async def test_deleting_the_resource_cancels_the_job(cluster: Any, gateway: Gateway) -> None:
    cluster.kubelet.plan(forever())
    cluster.apply(resource())
    job = (await state(cluster, "running"))["jobId"]
    cluster.call("DELETE", f"{PATH}/digits")
    await cluster.until(job, "cancelled")
    await eventually(lambda: cluster.call("GET", PATH)["items"] == [])
    assert gateway.jobs


async def test_18_a_new_resource_of_an_old_name_is_another_job(cluster: Any, gateway: Gateway) -> None:
    cluster.kubelet.plan(run(0.2))
    cluster.apply(resource())
    first = (await state(cluster, "succeeded"))["jobId"]
    cluster.call("DELETE", f"{PATH}/digits")
    await eventually(lambda: cluster.call("GET", PATH)["items"] == [])
    cluster.apply(resource())
    assert (await state(cluster, "succeeded"))["jobId"] != first
    assert len(gateway.jobs) == 2


async def test_two_operators_make_one_job(cluster: Any, gateway: Gateway) -> None:
    await cluster.start("b")
    cluster.kubelet.plan(run(0.2))
    for number in range(3):
        cluster.apply(resource(f"digits-{number}"))
    for number in range(3):
        await state(cluster, "succeeded", f"digits-{number}")
    assert len(gateway.jobs) == 3


async def test_26_a_status_that_cannot_be_written_is_written_later(cluster: Any, gateway: Gateway) -> None:
    if cluster.double is None:
        pytest.skip("a conflict at the right moment can only be planned on the double")
    cluster.kubelet.plan(run(0.2))
    cluster.double.faults.answer(409, 3, matching="^PATCH .*/trainingjobs/.*/status")
    cluster.apply(resource())
    status = await state(cluster, "succeeded")
    assert true(status) == {"Accepted", "Complete"}
    assert len(cluster.double.journal.matching("^PATCH .*/trainingjobs/.*/status")) > 3
    assert len(gateway.jobs) == 1
