"""Exit codes of pods, and the budgets that pay for them. The number is a row of the list of faults reported elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever, out_of_memory, run
from trainyard.common.lifecycle.states import EndReason

pytestmark = pytest.mark.integration

GIVES_WAY = {"codes": [75, 143], "counts_as": "preemption"}


@pytest.mark.parametrize("code", [75, 143])
async def test_a_pod_that_gives_way_costs_no_retry_of_the_user(cluster: Any, code: int) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.3, exit_code=code), name="*-1-worker-1-*")
    job = await cluster.submit(replicas=2, retries={"exit_codes": [GIVES_WAY]}, timeouts={"grace": 1})
    event = await cluster.seen(job, "restarting")
    assert event.used == {"preemption": 1}
    assert f"exit code {code} counts as preemption (retries.exit_codes)" in event.message
    assert (await cluster.until(job, "running")).attempt == 2


async def test_a_fatal_code_of_one_role_ends_the_job_at_once(cluster: Any) -> None:
    cluster.kubelet.plan(forever())
    cluster.kubelet.plan(run(0.3, exit_code=2), name="*-ps-0-*")
    fatal = {"codes": [2], "counts_as": "fatal", "role": "ps"}
    job = await cluster.submit(
        roles={"ps": {}, "worker": {}}, retries={"user": 5, "exit_codes": [fatal]}, timeouts={"grace": 1}
    )
    event = await cluster.until(job, "failed")
    assert event.attempt == 1
    assert "exit code 2 counts as fatal (retries.exit_codes), never retried" in event.message


async def test_6_out_of_memory_stays_what_it_is(cluster: Any) -> None:
    cluster.kubelet.plan(out_of_memory(0.2))
    killed = {"codes": [137], "counts_as": "infrastructure"}
    event = await cluster.until(await cluster.submit(retries={"exit_codes": [killed]}), "failed")
    assert (event.reason, event.attempt) == (EndReason.OOM, 1)
