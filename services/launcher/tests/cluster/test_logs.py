"""Logs of many pods: all of them are followed, by turns where there is no room for all at once."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import logs, sweeping

pytestmark = pytest.mark.integration
LITTLE: dict[str, Any] = {"resources": {"cpu": 0.1, "memory": "64Mi"}}
READS = "^GET /api/v1/namespaces/default/pods/.*/log"


async def running(cluster: Any, replicas: int) -> str:
    cluster.kubelet.plan(forever())
    job: str = await cluster.submit(framework="pytorch", replicas=replicas, timeouts={"grace": 1}, **LITTLE)
    await cluster.until(job, "running")
    return job


async def test_with_room_for_one_everybody_is_heard_and_kept_whole(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "STREAMS", 1)
    monkeypatch.setattr(logs, "TURN", 0.2)
    await cluster.kill()
    await cluster.start()
    job = await running(cluster, 3)
    store = LogStore(cluster.state / "a" / "logs")
    pods = sorted(cluster.pods(job))
    for number in range(3):
        for pod in pods:
            cluster.kubelet.write("default", pod, f"line {number}")
        for rank in range(3):
            await eventually(lambda: store.last_lines(job, 1, rank, 99)[-1:] == (f"line {number}",))  # noqa: B023
    for pod in pods:
        cluster.kubelet.write("default", pod, "last words")
        cluster.kubelet.finish("default", pod)
    await cluster.until(job, "succeeded")
    expected = ("line 0", "line 1", "line 2", "last words")
    for rank in range(3):
        await eventually(lambda: store.last_lines(job, 1, rank, 99) == expected)  # noqa: B023


async def test_many_logs_that_are_followed_keep_nothing_else_out(cluster: Any) -> None:
    """The client's own limit of connections is 100; a launcher that kept to it could ask nothing more."""
    job = await running(cluster, 120)
    await eventually(lambda: len(cluster.running(job)) == 120, within=60)
    await cluster.until(await running(cluster, 1), "running")
    for pod in cluster.pods(job):
        cluster.kubelet.finish("default", pod)
    assert (await cluster.until(job, "succeeded", "failed", within=60)).kind == "succeeded"


async def test_what_is_stored_is_not_read_again_by_the_next_launcher(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cluster.double is None:
        pytest.skip("only the double tells which requests it was asked")
    monkeypatch.setattr(sweeping, "EVERY", 0.1)
    cluster.kubelet.plan(run(0.1, lines=["a line"]))
    job = await cluster.submit()
    await cluster.until(job, "succeeded")
    await eventually(lambda: "trainyard.dev/ended" in str(cluster.items("/api/v1/namespaces/default/configmaps", job)))
    await cluster.kill()
    before = len(cluster.double.journal.matching(READS))
    await cluster.start()
    other = await cluster.submit()
    await cluster.until(other, "succeeded")
    asked = [seen.path for seen in cluster.double.journal.matching(READS)[before:]]
    assert any(pod in path for path in asked for pod in cluster.pods(other))
    assert not any(pod in path for path in asked for pod in cluster.pods(job))


async def test_logs_are_read_by_the_launcher_whose_job_it_is(cluster: Any) -> None:
    await cluster.start("b")
    cluster.kubelet.plan(run(0.3, lines=["a line"]))
    jobs = [await cluster.submit() for _ in range(8)]
    for job in jobs:
        await cluster.until(job, "succeeded")
    stores = [LogStore(cluster.state / member / "logs") for member in ("a", "b")]

    def told() -> list[int]:
        return [sum(store.last_lines(job, 1, 0, 99) == ("a line",) for store in stores) for job in jobs]

    await eventually(lambda: min(told()) >= 1)
    assert told() == [1] * len(jobs)


async def test_who_is_asked_to_come_back_later_does_and_so_do_the_others(cluster: Any) -> None:
    if cluster.double is None:
        pytest.skip("trouble of the API server can only be planned on the double")
    cluster.kubelet.plan(run(0.1))
    cluster.double.faults.answer(429, 1, retry_after=2, matching="^PATCH .*/configmaps/")
    first = await cluster.submit()
    await eventually(lambda: any(seen.code == 429 for seen in cluster.double.journal.all()))
    second = await cluster.submit()
    for job in (first, second):
        await cluster.until(job, "succeeded")
    seen = [one for one in cluster.double.journal.all() if one.user_agent.startswith("trainyard-launcher")]
    refused = next(one for one in seen if one.code == 429)
    writes = [one.at - refused.at for one in seen
              if one.at > refused.at and one.method != "GET" and "/leases/" not in one.path]  # fmt: skip
    assert min(writes) > 1.9
