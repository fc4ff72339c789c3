"""500 jobs at once: all end, the states are right, and the machine answers meanwhile."""

from __future__ import annotations

import asyncio
import time

import pytest

from trainyard.client.sdk import AsyncYard, Yard
from trainyard.common.testing.eventually import eventually
from trainyard.common.testing.yard import YardProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(400)]
COUNT = 500


async def test_500_jobs_at_once(yard: YardProcess, gateway: Yard) -> None:
    label = f"burst={COUNT}"
    slowest = 0.0
    async with AsyncYard(yard.url) as many:
        room = asyncio.Semaphore(50)

        async def submit(number: int) -> str:
            command = "true" if number % 10 else "false"
            async with room:
                job = await many.submit(
                    {
                        "name": f"burst-{number}",
                        "framework": "generic",
                        "command": command,
                        "labels": {"burst": str(COUNT)},
                        "resources": {"cpu": 0.25, "memory": "64Mi"},
                    }
                )
                return job.job_id

        submitted = await asyncio.gather(*(submit(number) for number in range(COUNT)))
    assert len(set(submitted)) == COUNT

    def all_ended() -> bool:
        nonlocal slowest
        began = time.perf_counter()
        ended = gateway.jobs(label=[label], state=["succeeded", "failed"], limit=1).total
        slowest = max(slowest, time.perf_counter() - began)
        return ended == COUNT

    await eventually(all_ended, within=300)
    assert gateway.jobs(label=[label], state=["failed"], limit=1).total == COUNT // 10
    assert slowest < 5  # not a measurement: a machine that stands still is not responsive
