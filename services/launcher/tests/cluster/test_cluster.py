"""Jobs on a cluster from submission to their end. The numbers are rows of the list of faults reported elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import Script, bad_image, forever, out_of_memory, run
from trainyard.common.contract import events
from trainyard.common.contract.inventory import BUCKET, Node
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration


async def test_a_job_runs_to_its_end(cluster: Any) -> None:
    cluster.kubelet.plan(run(0.3, lines=["hello"]))
    job = await cluster.submit(replicas=2)
    event = await cluster.until(job, "succeeded", "failed")
    assert event.kind == "succeeded", event
    assert [kind for kind in await cluster.kinds(job) if kind != "pending"] == [
        "submitted", "resolved", "starting", "running", "succeeded",
    ]  # fmt: skip
    assert [(ending.rank, ending.exit_code) for ending in event.endings] == [(0, 0), (1, 0)]
    told = [item.event async for item in cluster.bus.history("job", job)]
    running = next(item for item in told if item.kind == "running")
    assert {rank.node for rank in running.ranks} <= {"n0", "n1"}
    store = LogStore(cluster.state / "a" / "logs")
    await eventually(lambda: store.last_lines(job, 1, 0, 5) == ("hello",))


@pytest.mark.parametrize(
    ("script", "reason", "words"),
    [
        (run(0.2, exit_code=3, lines=["boom"]), EndReason.ERROR, "exited with code 3"),
        (out_of_memory(0.2), EndReason.OOM, "ran out of memory"),
    ],
)
async def test_8_a_failure_ends_the_job_with_its_reason(
    cluster: Any, script: Script, reason: EndReason, words: str
) -> None:
    cluster.kubelet.plan(script)
    event = await cluster.until(await cluster.submit(), "failed")
    assert event.reason is reason
    assert words in event.message


async def test_29_one_of_many_fails_and_the_group_ends_together(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.5, exit_code=7), name="*-worker-1-*")
    event = await cluster.until(await cluster.submit(replicas=3, timeouts={"grace": 1}), "failed")
    assert event.reason is EndReason.ERROR
    assert event.message.startswith("rank 1 exited with code 7")
    assert [ending.reason for ending in event.endings] == [EndReason.CANCELLED, EndReason.ERROR, EndReason.CANCELLED]


async def test_a_cancel_ends_the_pods(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    job = await cluster.submit(replicas=2, timeouts={"grace": 1})
    await cluster.until(job, "running")
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_a_restart_is_another_attempt(cluster: Any) -> None:
    cluster.kubelet.plan(run(0.1))
    cluster.kubelet.plan(run(0.1, exit_code=1), labels={"trainyard.dev/attempt": "1"})
    job = await cluster.submit(retries={"user": 1}, timeouts={"grace": 1})
    event = await cluster.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2)


async def test_a_waiting_pod_says_why(cluster: Any) -> None:
    job = await cluster.submit(resources={"cpu": 64})
    event = await cluster.until(job, "pending")
    assert event.reason is EndReason.UNSCHEDULABLE
    assert "lack cpu" in event.message


async def test_5_an_image_that_cannot_be_had_does_not_hold_the_job_for_ever(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainyard.launcher.core import pending  # noqa: PLC0415

    monkeypatch.setitem(pending.PENDING_LIMITS, EndReason.IMAGE_PULL, 1.0)
    cluster.kubelet.plan(bad_image())
    event: Any = await cluster.until(await cluster.submit(timeouts={"grace": 1}), "failed")
    assert event.reason is EndReason.IMAGE_PULL
    assert "ImagePullBackOff" in event.message


async def test_a_suspended_job_leaves_the_cluster_and_comes_back(cluster: Any) -> None:
    cluster.kubelet.plan(run(0.2))
    cluster.kubelet.plan(forever(), labels={"trainyard.dev/attempt": "1"})
    job = await cluster.submit(timeouts={"grace": 1})
    await cluster.until(job, "running")
    await cluster.tell(job, events.JobSuspending, by="ann", attempt=1)
    await cluster.until(job, "suspended")
    await cluster.tell(job, events.JobQueued, attempt=2, message="resumed by ann")
    assert (await cluster.until(job, "succeeded", "failed")).attempt == 2


async def test_a_machine_whose_jobs_run_on_a_cluster_by_now_is_no_node_any_more(cluster: Any) -> None:
    bucket = await cluster.bus.keyvalue(BUCKET)
    for name in ("here", "elsewhere"):
        node = Node(name=name, backend="local")
        await bucket.put(node.key, node.dump())
    for _ in range(2):
        await cluster.kill()
        await cluster.start()
    assert {entry.key for entry in await bucket.entries() if entry.key.startswith("local.")} == {"local.elsewhere"}
