"""Exit codes of real processes, and the budgets that pay for them."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.integration

GIVES_WAY = {"codes": [75, 143], "counts_as": "preemption"}


@pytest.mark.parametrize("end", ["exit 75", "kill -TERM $$"])
async def test_a_process_that_gives_way_costs_no_retry_of_the_user(world: Any, end: str) -> None:
    job = await world.submit(f"[ $TRAINYARD_ATTEMPT = 2 ] || {end}", retries={"exit_codes": [GIVES_WAY]})
    event = await world.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2)
    told = [item.event async for item in world.bus.history("job", job) if item.event.kind == "restarting"]
    assert [item.used for item in told] == [{"preemption": 1}]


async def test_a_fatal_code_ends_the_job_at_once(world: Any) -> None:
    fatal = {"codes": [2], "counts_as": "fatal"}
    job = await world.submit("exit 2", retries={"user": 5, "exit_codes": [fatal]})
    event = await world.until(job, "failed")
    assert event.attempt == 1
    assert "exit code 2 counts as fatal (retries.exit_codes), never retried" in event.message
