"""Jobs over HTTP: submit, look, filter, page, cancel, retry, and the same key twice."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.contract.commands import CancelJob, Convert, RetryJob, SubmitJob
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.testing.builders import spec
from trainyard.job_api.core.pages import encode_cursor


async def run(world: Any, job_id: str) -> None:
    await world.append(events.JobResolved(job_id=job_id, spec=spec(), resolution=events.Resolution(image="host")))
    await world.append(events.JobStarting(job_id=job_id, backend="local", node="n"))
    await world.append(events.JobRunning(job_id=job_id, ranks=(events.RankInfo(rank=0, pid=1),)))


async def test_a_job_from_submission_to_its_end(world: Any) -> None:
    job = await world.submit(labels={"team": "x"})
    assert job["state"] == "submitted"
    assert job["owner"] == "ann"
    await run(world, job["job_id"])
    progress = events.JobProgress(job_id=job["job_id"], number=1, epoch=2, epochs=4, metrics={"loss": 0.5, "nan": None})
    await world.append(progress)
    view = (await world.http.get(f"/v1/jobs/{job['job_id']}")).json()
    assert (view["state"], view["attempt"], view["progress"]["metrics"]["loss"]) == ("running", 1, 0.5)
    assert view["started_at"]
    await world.append(
        events.JobFailed(job_id=job["job_id"], reason=EndReason.ERROR, message="rank 0 exited with code 3")
    )
    view = (await world.http.get(f"/v1/jobs/{job['job_id']}")).json()
    assert (view["state"], view["reason"], view["message"]) == ("failed", "error", "rank 0 exited with code 3")
    assert view["ended_at"] >= view["started_at"]
    assert view["result"]["reason"] == "error"


async def test_a_key_gives_the_same_job_and_refuses_another_body(world: Any) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first = await world.http.post(
        "/v1/jobs", json={"name": "a", "framework": "generic", "command": ["true"]}, headers=headers
    )
    again = await world.http.post(
        "/v1/jobs", json={"name": "a", "framework": "generic", "command": "true"}, headers=headers
    )
    other = await world.http.post(
        "/v1/jobs", json={"name": "b", "framework": "generic", "command": "true"}, headers=headers
    )
    assert first.status_code == 201
    assert again.status_code in {200, 201}
    assert again.json()["job_id"] == first.json()["job_id"]
    assert other.status_code == 422
    assert "used for another request" in other.json()["detail"]
    assert first.headers["location"] == f"/v1/jobs/{first.json()['job_id']}"


async def test_pages_cover_everything_once(world: Any) -> None:
    made = [(await world.submit(name=f"job-{number}"))["job_id"] for number in range(7)]
    seen: list[str] = []
    cursor = None
    while True:
        page = (await world.http.get("/v1/jobs", params={"limit": 3, **({"cursor": cursor} if cursor else {})})).json()
        assert page["total"] == 7
        seen += [job["job_id"] for job in page["jobs"]]
        cursor = page.get("next")
        if cursor is None:
            break
    assert seen == made[::-1]


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({"state": "running"}, {"a"}),
        ({"state": "running,submitted"}, {"a", "b", "c"}),
        ({"framework": "pytorch"}, {"b"}),
        ({"label": "team=x"}, {"a", "c"}),
        ({"label": ["team=x", "tier=1"]}, {"c"}),
        ({"name": "c"}, {"c"}),
        ({"owner": "ann"}, {"a", "b", "c"}),
        ({"owner": "bob"}, set()),
        ({"project": "p"}, {"b"}),
        ({"since": "2020-01-01T00:00:00Z"}, {"a", "b", "c"}),
        ({"until": "2020-01-01T00:00:00+02:00"}, set()),
    ],
)
async def test_filters(world: Any, params: dict[str, Any], names: set[str]) -> None:
    job = await world.submit(name="a", labels={"team": "x"})
    await run(world, job["job_id"])
    await world.submit(name="b", framework="pytorch", project="p")
    await world.submit(name="c", labels={"team": "x", "tier": "1"})
    page = (await world.http.get("/v1/jobs", params=params)).json()
    assert {item["name"] for item in page["jobs"]} == names


@pytest.mark.parametrize(
    ("params", "says"),
    [
        ({"state": "runing"}, "did you mean 'running'?"),
        ({"label": "team"}, "label=key=value"),
        ({"since": "yesterday"}, "RFC 3339"),
        ({"since": "2026-01-01T00:00:00"}, "time zone"),
        ({"cursor": "nonsense"}, "not a cursor"),
        ({"cursor": encode_cursor(10**30)}, "not a cursor"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "out of range"),
        ({"limit": 0}, "greater than or equal to 1"),
        ({"colour": "red"}, "not permitted"),
    ],
)
async def test_wrong_filters_are_named(world: Any, params: dict[str, Any], says: str) -> None:
    response = await world.http.get("/v1/jobs", params=params)
    assert response.status_code == 422
    assert says in response.json()["detail"]


async def test_cancel_is_durable_and_may_be_repeated(world: Any) -> None:
    job = await world.submit()
    for _ in range(2):
        response = await world.http.post(f"/v1/jobs/{job['job_id']}/cancel", params={"message": "enough"})
        assert (response.status_code, response.json()["state"]) == (202, "cancelling")
    kinds = [item.event.kind async for item in world.bus.history("job", job["job_id"])]
    assert kinds == ["submitted", "cancelling"]
    await world.append(events.JobCancelled(job_id=job["job_id"]))
    assert (await world.http.delete(f"/v1/jobs/{job['job_id']}")).status_code == 202


async def test_what_a_state_does_not_allow_is_a_conflict(world: Any) -> None:
    job = await world.submit()
    early = await world.http.post(f"/v1/jobs/{job['job_id']}/retry")
    assert (early.status_code, "has not ended" in early.json()["detail"]) == (409, True)
    await run(world, job["job_id"])
    await world.append(events.JobSucceeded(job_id=job["job_id"]))
    late = await world.http.post(f"/v1/jobs/{job['job_id']}/cancel")
    assert (late.status_code, "has ended already" in late.json()["detail"]) == (409, True)
    retried = await world.http.post(f"/v1/jobs/{job['job_id']}/retry")
    assert retried.status_code == 201
    assert retried.json()["retry_of"] == job["job_id"]
    assert retried.json()["spec"] == job["spec"]


async def test_commands_over_the_bus_get_the_same_answers(world: Any) -> None:
    document = {"name": "a", "framework": "generic", "command": "true"}
    first = await world.bus.request(SubmitJob(spec=document), request_id="r1")
    again = await world.bus.request(SubmitJob(spec=document), request_id="r1")
    assert first.status == 201
    assert again.body["job_id"] == first.body["job_id"]
    assert first.body["owner"] == "/trainyard/test"
    cancelled = await world.bus.request(CancelJob(job_id=first.body["job_id"]))
    assert (cancelled.status, cancelled.body["state"]) == (202, "cancelling")
    assert (await world.bus.request(RetryJob(job_id=first.body["job_id"]))).status == 409
    bad = await world.bus.request(SubmitJob(spec={"nam": "x"}))
    assert bad.status == 422
    assert "did you mean 'name'?" in bad.body["detail"]
    conversion = await world.bus.request(
        Convert(spec={"workdir": "/a", "artifacts": "/a", "convert": {"model": "m:f", "inputs": [{"name": "x"}]}})
    )
    assert (conversion.status, conversion.body["state"]) == (201, "requested")


async def test_the_read_model_is_rebuilt_from_the_log(world: Any) -> None:
    job = await world.submit()
    from trainyard.common.projection.store import Store  # noqa: PLC0415
    from trainyard.job_api.adapters.projection import SCHEMA, ReadModel  # noqa: PLC0415
    from trainyard.job_api.adapters.queries import Queries  # noqa: PLC0415

    with Store(world.state / "again.sqlite", SCHEMA, "log") as store:
        model = ReadModel(store)
        async for batch in world.bus.follow(after=store.cursor):
            model.apply(batch)
            if batch.caught_up:
                break
        rebuilt = Queries(store.db).job(job["job_id"])
    assert rebuilt is not None
    assert (
        rebuilt.model_dump(mode="json", exclude_none=True) == (await world.http.get(f"/v1/jobs/{job['job_id']}")).json()
    )


async def test_a_job_is_suspended_and_resumed(world: Any) -> None:
    job = await world.submit()
    path = f"/v1/jobs/{job['job_id']}"
    refused = await world.http.post(f"{path}/suspend")
    assert refused.status_code == 409
    assert "cannot be suspended: it is submitted" in refused.json()["detail"]
    await run(world, job["job_id"])
    suspended = await world.http.post(f"{path}/suspend", params={"message": "room for others"})
    assert (suspended.status_code, suspended.json()["state"]) == (202, "suspending")
    early = await world.http.post(f"{path}/resume")
    assert "still being suspended" in early.json()["detail"]
    await world.append(events.JobSuspended(job_id=job["job_id"], by="local"))
    resumed = await world.http.post(f"{path}/resume")
    assert (resumed.status_code, resumed.json()["state"]) == (202, "queued")
    latest = await world.bus.latest("job", job["job_id"])
    assert (latest[-1].event.kind, latest[-1].event.attempt) == ("queued", 2)
    again = await world.http.post(f"{path}/resume")
    assert "is not suspended: it is queued" in again.json()["detail"]


async def test_restarts_are_remembered_while_the_next_attempt_runs(world: Any) -> None:
    job = (await world.submit())["job_id"]
    await run(world, job)
    message = "rank 0 exited with code 75; exit code 75 counts as preemption (retries.exit_codes)"
    paid = {"budget": "preemption", "budget_left": 9, "used": {"preemption": 1}}
    lines = tuple(f"line {number}" for number in range(20))
    await world.append(
        events.JobRestarting(job_id=job, reason=EndReason.ERROR, message=message, log_tail=lines, **paid)
    )
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert (view["state"], view["message"]) == ("restarting", message)
    await world.append(events.JobStarting(job_id=job, attempt=2, backend="local", node="n"))
    await world.append(events.JobPending(job_id=job, attempt=2, message="0/5 nodes: 3 lack nvidia.com/gpu"))
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert (view["attempt"], view["message"]) == (2, "0/5 nodes: 3 lack nvidia.com/gpu")
    await world.append(events.JobRunning(job_id=job, attempt=2, ranks=(events.RankInfo(rank=0, pid=1),)))
    view = (await world.http.get(f"/v1/jobs/{job}")).json()
    assert "message" not in view
    assert (view["restarts"]["attempt"], view["restarts"]["message"]) == (1, message)
    assert view["restarts"]["used"] == {"preemption": 1}
    assert not view["restarts"].get("log_tail"), "a list of jobs is no place for logs"
