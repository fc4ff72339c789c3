"""`resize`: one wish, one event; what cannot be is refused in words, and the view tells what is and what is to be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainyard.common.bus.advance import read_head
from trainyard.common.contract import events
from trainyard.common.contract.commands import ResizeJob
from trainyard.common.contract.templates import JobLimits
from trainyard.common.errors import InvalidInput
from trainyard.job_api.core import resizing

ROLES: dict[str, Any] = {"chief": {}, "ps": {}, "worker": {"replicas": 2}}


async def run(world: Any, job: str, **replicas: int) -> None:
    resolution = events.Resolution(image="host")
    spec = (await world.bus.latest("job", job))[0].event.spec
    await world.append(events.JobResolved(job_id=job, spec=spec, resolution=resolution))
    await world.append(events.JobStarting(job_id=job, backend="local", node="n", replicas=replicas))
    await world.append(events.JobRunning(job_id=job))


async def resize(world: Any, job: str, **params: Any) -> Any:
    return await world.http.post(f"/v1/jobs/{job}/resize", params=params)


async def wishes(world: Any, job: str) -> list[Any]:
    return [item.event async for item in world.bus.history("job", job) if item.event.kind == "resized"]


async def test_a_wish_is_one_event_however_often_it_is_told(world: Any) -> None:
    job = (await world.submit(replicas=2))["job_id"]
    await run(world, job)
    first = await resize(world, job, replicas=4)
    assert (first.status_code, first.json()["state"], first.json()["replicas"]) == (202, "running", {"worker": 4})
    again = await resize(world, job, replicas=4, role="worker")
    assert (again.status_code, again.json()["replicas"]) == (200, {"worker": 4})
    [wish] = await wishes(world, job)
    assert (wish.role, wish.before, wish.replicas, wish.by, wish.roles) == ("worker", 2, 4, "ann", {"worker": 4})
    back = await resize(world, job, replicas=2)
    assert back.status_code == 202
    assert [(wish.number, wish.before, wish.replicas) for wish in await wishes(world, job)] == [(1, 2, 4), (2, 4, 2)]


async def test_the_view_tells_what_is_and_what_is_to_be(world: Any) -> None:
    job = (await world.submit(framework="tensorflow", roles=ROLES))["job_id"]
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert (view["replicas"], view["replicas_now"]) == ({"chief": 1, "ps": 1, "worker": 2}, {})
    await run(world, job)
    await resize(world, job, replicas=3, role="worker", message="more nodes are free")
    await world.append(events.JobPending(job_id=job, message="there is no room"))
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert (view["replicas"]["worker"], view["replicas_now"]["worker"]) == (3, 2)
    assert (view["state"], view["message"]) == ("running", "there is no room")
    assert view["spec"]["roles"]["worker"]["replicas"] == 2
    paid = {"budget": "none", "budget_left": 0, "message": "m"}
    await world.append(events.JobRestarting(job_id=job, reason="resized", **paid))
    shape = {"chief": 1, "ps": 1, "worker": 3}
    await world.append(events.JobStarting(job_id=job, attempt=2, backend="local", node="n", replicas=shape))
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert view["replicas"] == view["replicas_now"] == shape


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"replicas": 0}, "at least one replica, not 0"),
        ({"replicas": -1}, "at least one replica, not -1"),
        ({"replicas": 10_001}, "10000"),
        ({"replicas": "many"}, "valid integer"),
        ({"replicas": 2, "role": "wroker"}, "no role 'wroker'"),
        ({"replicas": 2, "role": "chief"}, "role chief is a single process, not 2"),
    ],
)
async def test_what_cannot_be_is_refused_in_words(world: Any, params: dict[str, Any], says: str) -> None:
    job = (await world.submit(framework="tensorflow", roles=ROLES))["job_id"]
    await run(world, job)
    refused = await resize(world, job, **params)
    assert refused.status_code == 422
    assert says in refused.text
    assert await wishes(world, job) == []


async def test_only_a_job_that_is_known_and_has_not_ended(world: Any) -> None:
    job = (await world.submit())["job_id"]
    early = await resize(world, job, replicas=2)
    assert (early.status_code, "try again in a moment" in early.json()["detail"]) == (409, True)
    await run(world, job)
    await world.append(events.JobSucceeded(job_id=job))
    late = await resize(world, job, replicas=2)
    assert (late.status_code, "has ended already (succeeded)" in late.json()["detail"]) == (409, True)
    assert (await resize(world, "01m8rnn55kwvhga2qy4vdzgn5d", replicas=2)).status_code == 404


async def test_two_at_once_have_one_order(world: Any) -> None:
    job = (await world.submit(replicas=2))["job_id"]
    await run(world, job)
    answers = await asyncio.gather(*(resize(world, job, replicas=count) for count in (3, 4, 5)))
    assert [answer.status_code for answer in answers] == [202, 202, 202]
    told = await wishes(world, job)
    assert sorted(wish.replicas for wish in told) == [3, 4, 5]
    assert [wish.before for wish in told] == [2, *(wish.replicas for wish in told[:-1])]


async def test_a_retry_takes_the_size_that_was_asked_for(world: Any) -> None:
    job = (await world.submit(replicas=2))["job_id"]
    await run(world, job)
    await resize(world, job, replicas=3)
    await world.append(events.JobFailed(job_id=job, reason="error", message="m"))
    again = await world.http.post(f"/v1/jobs/{job}/retry")
    assert (again.status_code, again.json()["replicas"], again.json()["spec"]["replicas"]) == (201, {"worker": 3}, 3)


async def test_the_limits_hold_for_what_a_template_made(world: Any) -> None:
    job = (await world.submit(replicas=2, labels={"template": "digits"}))["job_id"]
    await run(world, job)
    head, last = await read_head(world.bus, job)
    limits = [("the operator's limit for digits", JobLimits(cpu=3))]
    with pytest.raises(InvalidInput, match=r"asks for 4 cores, at most 3 cores \(the operator's limit for digits\)"):
        resizing.wish(head, last, ResizeJob(job_id=job, replicas=4), "ann", limits)
    wish = resizing.wish(head, last, ResizeJob(job_id=job, replicas=3), "ann", limits)
    assert wish is not None
    assert wish.roles == {"worker": 3}
