"""Events and logs as pages and as streams that resume where they broke."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.logs.layout import rank_folder
from trainyard.common.logs.writer import LogWriter
from trainyard.common.testing.builders import spec
from trainyard.job_api.adapters.http import logs

STREAM = {"Accept": "text/event-stream"}


async def ended_job(world: Any) -> str:
    job: str = (await world.submit())["job_id"]
    await world.append(events.JobResolved(job_id=job, spec=spec(), resolution=events.Resolution(image="host")))
    await world.append(events.JobStarting(job_id=job, backend="local", node="n"))
    await world.append(events.JobRunning(job_id=job))
    await world.append(events.JobSucceeded(job_id=job))
    return job


def parsed(text: str) -> list[dict[str, Any]]:
    """Server-sent events as a browser reads them."""
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append({**fields, "data": json.loads(fields["data"])})
    return found


async def test_events_as_a_page_and_as_a_stream(world: Any) -> None:
    job = await ended_job(world)
    page = (await world.http.get(f"/v1/jobs/{job}/events")).json()["events"]
    stream = parsed((await world.http.get(f"/v1/jobs/{job}/events", headers=STREAM)).text)
    assert [event["kind"] for event in page] == ["submitted", "resolved", "starting", "running", "succeeded"]
    assert [event["data"] for event in stream] == page
    assert [event["event"] for event in stream] == [event["kind"] for event in page]


async def test_a_stream_resumes_and_is_told_when_there_is_no_more(world: Any) -> None:
    job = await ended_job(world)
    whole = parsed((await world.http.get(f"/v1/jobs/{job}/events", headers=STREAM)).text)
    rest = await world.http.get(f"/v1/jobs/{job}/events", headers={**STREAM, "Last-Event-ID": whole[2]["id"]})
    assert parsed(rest.text) == whole[3:]
    end = await world.http.get(f"/v1/jobs/{job}/events", headers={**STREAM, "Last-Event-ID": whole[-1]["id"]})
    assert end.status_code == 204
    wrong = await world.http.get(f"/v1/jobs/{job}/events", headers={**STREAM, "Last-Event-ID": "x"})
    assert wrong.status_code == 422


def texts(stream: list[dict[str, Any]]) -> list[str]:
    return [line["text"] for event in stream if event["event"] == "lines" for line in event["data"]]


def write(world: Any, job: str, attempt: int, rank: int, text: str) -> None:
    log = LogWriter(rank_folder(world.state / "logs", job, attempt, rank))
    log.feed("stdout", text.encode())
    log.close()


async def test_logs_of_all_ranks_and_attempts(world: Any) -> None:
    job = await ended_job(world)
    write(world, job, 1, 0, "first try\n")
    write(world, job, 2, 0, "a\nb\n")
    write(world, job, 2, 1, "c\n")
    text = (await world.http.get(f"/v1/jobs/{job}/logs")).text
    assert text == "[0] a\n[0] b\n[1] c\n"
    assert (await world.http.get(f"/v1/jobs/{job}/logs", params={"rank": 1})).text == "c\n"
    assert (await world.http.get(f"/v1/jobs/{job}/logs", params={"attempt": 1})).text == "first try\n"
    assert (await world.http.get(f"/v1/jobs/{job}/logs", params={"tail": 1, "rank": 0})).text == "b\n"


async def test_a_log_stream_resumes_without_gap_or_double(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES", 4)
    job = await ended_job(world)
    write(world, job, 1, 0, "".join(f"line {number}\n" for number in range(20)))
    write(world, job, 1, 1, "other\n")
    url, follow = f"/v1/jobs/{job}/logs", {"follow": "true"}
    whole = parsed((await world.http.get(url, params=follow, headers=STREAM)).text)
    assert whole[-1]["event"] == "end"
    assert texts(whole) == [*(f"line {number}" for number in range(20)), "other"]
    for cut in range(len(whole) - 1):
        rest = await world.http.get(url, params=follow, headers={**STREAM, "Last-Event-ID": whole[cut]["id"]})
        assert texts(parsed(rest.text) if rest.text else []) == texts(whole[cut + 1 :])
    end = await world.http.get(url, params=follow, headers={**STREAM, "Last-Event-ID": whole[-1]["id"]})
    assert end.status_code == 204


@pytest.mark.parametrize(
    ("params", "status"), [({"rank": 9}, 404), ({"attempt": 9}, 404), ({"tail": -1}, 422), ({"rank": "x"}, 422)]
)
async def test_wrong_log_requests(world: Any, params: dict[str, Any], status: int) -> None:
    job = await ended_job(world)
    write(world, job, 1, 0, "x\n")
    assert (await world.http.get(f"/v1/jobs/{job}/logs", params=params)).status_code == status


@pytest.mark.parametrize(
    ("path", "cursor"),
    [
        ("logs", "-1000000000000"),  # would be counted up from, attempt by attempt
        ("logs", "0"),
        ("logs", "1;0=-5"),
        ("logs", "1;0=" + "9" * 30),
        ("logs", "\u00b2"),
        ("events", "\u00b2"),
        ("events", "9" * 25),
        ("events", "9" * 5000),
    ],
)
@pytest.mark.timeout(20)
async def test_a_cursor_that_we_never_gave_is_refused(world: Any, path: str, cursor: str) -> None:
    job = await ended_job(world)
    write(world, job, 1, 0, "x\n")
    headers = {**STREAM, "Last-Event-ID": cursor.encode("latin-1")}
    answer = await world.http.get(f"/v1/jobs/{job}/{path}", params={"follow": "true"}, headers=headers)
    assert answer.status_code == 422
    assert "Last-Event-ID" in answer.json()["detail"]


async def test_an_offset_behind_the_end_of_a_log_gives_nothing(world: Any) -> None:
    job = await ended_job(world)
    write(world, job, 1, 0, "x\n")
    answer = await world.http.get(f"/v1/jobs/{job}/logs", headers={"Last-Event-ID": "1;0=" + "9" * 18})
    assert (answer.status_code, answer.text) == (200, "")
