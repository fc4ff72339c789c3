"""What a job's own limits mean on a cluster: no progress, the grace of pods that do not obey, and how long objects stay."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import Script, forever
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes import sweeping

pytestmark = pytest.mark.integration


async def test_a_job_that_hangs_is_ended_for_it(cluster: Any) -> None:
    cluster.kubelet.plan(forever(lines=["begun"]))
    event = await cluster.until(await cluster.submit(replicas=2, timeouts={"idle": 1, "grace": 1}), "failed")
    assert event.reason is EndReason.IDLE
    assert "timeouts.idle" in event.message
    assert [ending.reason for ending in event.endings] == [EndReason.CANCELLED] * 2


async def test_a_pod_that_does_not_obey_is_killed_after_its_grace(cluster: Any) -> None:
    cluster.kubelet.plan(Script(run_seconds=None, stop_seconds=None))
    job = await cluster.submit(timeouts={"grace": 1})
    await cluster.until(job, "running")
    [pod] = cluster.items("/api/v1/namespaces/default/pods", job)
    grace = pod["spec"]["terminationGracePeriodSeconds"]
    assert grace == 6, "the runner inside kills after 1 s, the kubelet only where that has failed"
    began = time.monotonic()
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
    assert grace - 1 < time.monotonic() - began < grace + 10


async def test_24_nothing_is_cleared_away_before_its_logs_are_stored(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if cluster.double is None:
        pytest.skip("logs that cannot be had can only be planned on the double")
    monkeypatch.setattr(sweeping, "EVERY", 0.2)
    cluster.double.faults.answer(503, 10_000, matching="/log\\?")
    cluster.kubelet.plan(forever(lines=["hello"]))
    job = await cluster.submit(kubernetes={"keep": 0})
    await cluster.until(job, "running")
    [pod] = cluster.pods(job)
    cluster.kubelet.finish("default", pod)
    await cluster.until(job, "succeeded")
    await asyncio.sleep(2.0)
    assert ("Pod", pod) in cluster.objects(job)
    assert all("trainyard.dev/ended" not in (item["metadata"].get("annotations") or {})
               for item in cluster.items("/api/v1/namespaces/default/configmaps", job))  # fmt: skip
    cluster.double.faults.clear()
    await eventually(lambda: not cluster.objects(job), within=60)
