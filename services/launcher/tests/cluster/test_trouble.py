"""A cluster in trouble costs no job its life. The numbers are rows of the list of faults reported elsewhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import cache, packages, watching

pytestmark = pytest.mark.integration


@pytest.fixture
def faults(cluster: Any) -> Any:
    if cluster.double is None:
        pytest.skip("trouble of the API server can only be planned on the double")
    return cluster.double.faults


async def running(cluster: Any, **changes: Any) -> str:
    cluster.kubelet.plan(forever())
    job: str = await cluster.submit(**{"timeouts": {"grace": 1}, **changes})
    await cluster.until(job, "running")
    return job


async def finish(cluster: Any, job: str) -> Any:
    for pod in cluster.pods(job):
        cluster.kubelet.finish("default", pod)
    return await cluster.until(job, "succeeded", "failed", "lost")


async def test_1_an_expired_history_is_read_anew(cluster: Any, faults: Any) -> None:
    job = await running(cluster)
    faults.expire_history()
    faults.cut_watches()
    assert (await finish(cluster, job)).kind == "succeeded"


async def test_2_a_watch_that_hangs_is_noticed(cluster: Any, faults: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "WATCH", (1, 1))
    monkeypatch.setattr(watching, "SILENCE", 0.5)
    job = await running(cluster)
    faults.cut_watches()  # the next watches last a second
    faults.freeze_watches()
    await asyncio.sleep(0.2)
    for pod in cluster.pods(job):
        cluster.kubelet.finish("default", pod)
    await asyncio.sleep(1)
    faults.thaw_watches()
    assert (await cluster.until(job, "succeeded", "failed")).kind == "succeeded"


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_31_a_server_that_is_busy_is_asked_again(cluster: Any, faults: Any, code: int) -> None:
    cluster.kubelet.plan(run(0.2))
    faults.answer(code, 3, retry_after=0 if code == 429 else None, matching="^PATCH")
    event = await cluster.until(await cluster.submit(), "succeeded", "failed")
    assert event.kind == "succeeded", event


async def test_28_an_outage_ends_nobody(cluster: Any, faults: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "BLIND", 0.5)
    job = await running(cluster)
    faults.outage(4.0)
    waiting = await cluster.submit()
    await asyncio.sleep(2.0)
    assert (await cluster.kinds(job))[-1] == "running"
    await cluster.until(waiting, "running")
    assert (await finish(cluster, job)).kind == "succeeded"
    assert (await finish(cluster, waiting)).kind == "succeeded"


async def test_12_a_lost_node_starts_another_attempt(cluster: Any) -> None:
    job = await running(cluster)
    node = next(iter(cluster.nodes(job)))
    cluster.kubelet.lose(node)
    cluster.disrupt(job, "DeletionByTaintManager")
    restarting = await cluster.seen(job, "restarting")
    assert (restarting.reason, restarting.budget) == (EndReason.NODE_LOST, "infrastructure")


async def test_13_preemption_has_a_budget_of_its_own(cluster: Any, faults: Any) -> None:
    del faults  # a control plane writes this condition itself, and not because a test has
    job = await running(cluster)
    cluster.disrupt(job, "PreemptionByScheduler")
    cluster.delete_pods(job)
    restarting = await cluster.seen(job, "restarting")
    assert (restarting.reason, restarting.budget) == (EndReason.PREEMPTED, "preemption")


async def test_14_a_pod_that_somebody_deletes_is_made_again(cluster: Any) -> None:
    job = await running(cluster)
    cluster.delete_pods(job)
    restarting = await cluster.seen(job, "restarting")
    assert restarting.budget == "infrastructure"
    assert (await cluster.until(job, "running")).attempt == 2


async def test_15_objects_that_are_gone_already_do_not_wedge_a_cancel(cluster: Any) -> None:
    job = await running(cluster)
    cluster.delete_makers(job)
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")


async def test_22_a_namespace_without_room_is_waited_for(cluster: Any) -> None:
    cluster.apply({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "default"},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    })  # fmt: skip
    job = await cluster.submit()
    event = await cluster.seen(job, "pending")
    cluster.remove("ResourceQuota", "none")
    assert event.reason is EndReason.QUOTA
    assert "exceeded quota" in event.message


async def test_24_and_4_logs_are_kept_once_and_whole(cluster: Any, faults: Any) -> None:
    job = await running(cluster)
    [pod] = cluster.pods(job)
    store = LogStore(cluster.state / "a" / "logs")
    for number in range(50):
        cluster.kubelet.write("default", pod, f"line {number}")
        if number == 20:
            await eventually(lambda: len(store.last_lines(job, 1, 0, 99)) > 10)
            faults.cut_watches()
        if number == 30:
            await cluster.kill()
            await cluster.start()
    await finish(cluster, job)
    expected = tuple(f"line {number}" for number in range(50))
    await eventually(lambda: store.last_lines(job, 1, 0, 99) == expected)


async def test_34_a_log_that_cannot_be_had_is_not_asked_for_all_the_time(cluster: Any, faults: Any) -> None:
    faults.answer(503, 10_000, matching="/log\\?")
    cluster.kubelet.plan(run(0.2))
    await cluster.until(await cluster.submit(), "succeeded")
    before = len(cluster.double.journal.matching("/log\\?"))
    await asyncio.sleep(2.0)
    assert len(cluster.double.journal.matching("/log\\?")) - before <= 5


async def test_17_and_33_what_has_ended_is_cleared_away_by_its_own_name(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainyard.launcher.adapters.kubernetes import sweeping  # noqa: PLC0415

    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    other = await running(cluster)
    job = await running(cluster, kubernetes={"keep": 0})
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
    await eventually(lambda: not cluster.objects(job), within=20)
    assert cluster.objects(other)
    assert (await cluster.kinds(job))[-1] == "cancelled"


async def test_two_launchers_make_one_set_of_objects_and_one_takes_over(cluster: Any) -> None:
    await cluster.start("b")
    jobs = [await running(cluster) for _ in range(4)]
    for job in jobs:
        assert len([name for kind, name in cluster.objects(job) if kind == "Job"]) == 1
        assert (await cluster.kinds(job)).count("running") == 1
    await cluster.kill("a")
    for job in jobs:
        assert (await finish(cluster, job)).kind == "succeeded"


async def test_the_in_job_library_comes_back_when_somebody_deletes_it(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "EVERY", 0.2)
    await cluster.kill()
    await cluster.start()
    await running(cluster)
    path = "/api/v1/namespaces/default/configmaps"

    def there() -> dict[str, str]:
        found = [item["metadata"] for item in cluster.call("GET", path)["items"]]
        return {one["name"]: one["uid"] for one in found if one["name"].startswith("trainyard-worker-")}

    [(name, uid)] = there().items()
    cluster.call("DELETE", f"{path}/{name}")
    await eventually(lambda: there().get(name) not in {None, uid})
