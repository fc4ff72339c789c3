"""`kubectl apply` of a TrainingJob: the same job as over HTTP, its status, and its end when the resource is deleted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import bad_image, forever, run
from trainyard.common.clock import SystemClock
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes.operator import Operator

pytestmark = pytest.mark.integration


def true(status: dict[str, Any]) -> set[str]:
    return {item["type"] for item in status["conditions"] if item["status"] == "True"}


def said(status: dict[str, Any]) -> dict[str, str]:
    return {item["type"]: item["message"] for item in status["conditions"] if item["message"]}


async def test_an_applied_resource_runs_to_its_end(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    gateway.apply(replicas=2)
    status = await gateway.state("running")
    assert true(status) == {"Accepted", "Running"}
    for pod in cluster.pods(status["jobId"]):
        cluster.kubelet.finish("default", pod)
    status = await gateway.state("succeeded")
    assert true(status) == {"Accepted", "Complete"}
    assert status["framework"] == "pytorch"
    assert status["startedAt"] <= status["endedAt"]
    assert gateway.owners == {"kubernetes/default"}
    assert await cluster.kinds(status["jobId"]) == [
        "submitted", "resolved", "starting", "running", "succeeded",
    ]  # fmt: skip


async def test_what_is_wrong_is_said_in_the_resource(cluster: Any, gateway: Any) -> None:
    gateway.apply(framework="pytroch")
    status = await gateway.state("rejected")
    assert "pytorch" in status["message"]
    assert true(status) == set()
    assert said(status) == {"Accepted": status["message"]}
    assert gateway.jobs == {}


async def test_pods_stand_in_the_resources_namespace_only(cluster: Any, gateway: Any) -> None:
    gateway.apply(kubernetes={"namespace": "kube-system"})
    status = await gateway.state("rejected")
    assert "stand in its own namespace 'default'" in status["message"]
    assert gateway.jobs == {}


async def test_deleting_the_resource_cancels_the_job(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(forever())
    gateway.apply()
    job = (await gateway.state("running"))["jobId"]
    gateway.remove()
    await cluster.until(job, "cancelled")
    await gateway.nothing_left()
    assert gateway.jobs


async def test_why_a_job_waited_is_not_said_of_its_end(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(bad_image())
    gateway.apply()
    job = (await gateway.state("starting"))["jobId"]
    await cluster.seen(job, "pending")

    async def waits() -> Any:
        status = await gateway.state("starting")
        return "message" in status and status

    waiting = await eventually(waits)
    assert said(waiting) == {"Running": waiting["message"]}
    assert true(waiting) == {"Accepted"}
    await cluster.cancel(job)
    status = await gateway.state("cancelled")
    assert "message" not in status
    assert said(status) == {}
    assert true(status) == {"Accepted", "Cancelled"}


async def test_a_failure_is_said_at_its_own_condition(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(run(exit_code=3))
    gateway.apply()
    status = await gateway.state("failed")
    assert true(status) == {"Accepted", "Failed"}
    assert said(status) == {"Failed": status["message"]}
    assert {item["type"]: item["reason"] for item in status["conditions"]}["Accepted"] == "Accepted"


async def test_a_job_that_the_resource_never_came_to_name_is_cancelled_too(cluster: Any, gateway: Any) -> None:
    if cluster.double is None:
        pytest.skip("a status that cannot be written for long can only be planned on the double")
    cluster.kubelet.plan(forever())
    cluster.double.faults.answer(409, 1000, matching="^PATCH .*/trainingjobs/.*/status")
    gateway.apply()
    await eventually(lambda: gateway.jobs)
    [job] = gateway.jobs.values()
    await cluster.until(job, "running")
    gateway.remove()
    await cluster.until(job, "cancelled")
    await gateway.nothing_left()


async def test_18_a_new_resource_of_an_old_name_is_another_job(cluster: Any, gateway: Any) -> None:
    cluster.kubelet.plan(run(0.2))
    gateway.apply()
    first = (await gateway.state("succeeded"))["jobId"]
    gateway.remove()
    await gateway.nothing_left()
    gateway.apply()
    assert (await gateway.state("succeeded"))["jobId"] != first
    assert len(gateway.jobs) == 2


async def test_two_operators_make_one_job(cluster: Any, gateway: Any) -> None:
    await cluster.start("b")
    cluster.kubelet.plan(run(0.2))
    for number in range(3):
        gateway.apply(f"digits-{number}")
    for number in range(3):
        await gateway.state("succeeded", f"digits-{number}")
    assert len(gateway.jobs) == 3


async def test_26_a_status_that_cannot_be_written_is_written_later(cluster: Any, gateway: Any) -> None:
    if cluster.double is None:
        pytest.skip("a conflict at the right moment can only be planned on the double")
    cluster.kubelet.plan(run(0.2))
    cluster.double.faults.answer(409, 3, matching="^PATCH .*/trainingjobs/.*/status")
    gateway.apply()
    status = await gateway.state("succeeded")
    assert true(status) == {"Accepted", "Complete"}
    assert len(cluster.double.journal.matching("^PATCH .*/trainingjobs/.*/status")) > 3
    assert len(gateway.jobs) == 1


async def test_a_slow_resource_delays_no_other(cluster: Any, gateway: Any) -> None:
    if cluster.double is None:
        pytest.skip("trouble of the API server can only be planned on the double")
    cluster.kubelet.plan(run(0.1))
    cluster.double.faults.slow(8.0, 1, matching="^PATCH .*/trainingjobs/slow/status")
    gateway.apply("slow")
    await eventually(lambda: cluster.double.faults._plans == [])
    began = time.monotonic()
    gateway.apply("quick")
    await gateway.state("succeeded", "quick")
    assert time.monotonic() - began < 6.0
    await gateway.state("succeeded", "slow")
    assert len(gateway.jobs) == 2


async def test_faults_of_a_resource_that_is_gone_are_forgotten() -> None:
    nobody: Any = None
    made = Operator(nobody, nobody, SystemClock(), lambda job_id: True, [])
    made._later(("default", "gone"))
    await made._look(("default", "gone"))
    assert made._faults == {}
