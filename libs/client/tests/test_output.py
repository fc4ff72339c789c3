"""What `yard status` says of a job, line by line: no empty cells, and nothing that a rich console would take for markup."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from trainyard.client.cli import exits, nodes, output, streams
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.views import ConversionView, EventView, JobView
from trainyard.common.lifecycle.states import State

RETRIES = {"user": 1, "infrastructure": 3, "preemption": 10}


def view(state: State, **changes: Any) -> JobView:
    base: dict[str, Any] = {"job_id": "j", "name": "a", "project": "p", "framework": "generic", "owner": "ann"}
    changes = {"spec": {"retries": RETRIES}, **changes}
    return JobView(**base, state=state, submitted_at="2026-12-01T10:00:00Z", last_seq=1, **changes)


def shown(job: JobView) -> dict[str, str]:
    console = Console(width=300, color_system=None)
    with console.capture() as captured:
        console.print(output.job_details(job))
    lines = [line.partition("  ") for line in captured.get().splitlines() if line.strip()]
    return {name.strip(): words.strip() for name, _, words in lines}


def test_a_job_at_its_first_attempt_says_nothing_of_restarts() -> None:
    found = shown(view(State.STARTING, attempt=1, message="0/5 nodes: 3 lack nvidia.com/gpu [2 tainted]"))
    assert found["message"] == "0/5 nodes: 3 lack nvidia.com/gpu [2 tainted]"
    assert "restarts" not in found
    assert all(found.values())


@pytest.mark.parametrize(
    ("state", "message", "says"),
    [
        (State.RUNNING, None, "1 of 3 infrastructure; 2 of 10 preemption; attempt 3 ended: rank 0 was evicted"),
        (State.RESTARTING, "rank 0 was evicted", "1 of 3 infrastructure; 2 of 10 preemption"),
    ],
)
def test_restarts_by_budget_and_what_the_last_was_for(state: State, message: str | None, says: str) -> None:
    last = {"attempt": 3, "message": "rank 0 was evicted", "used": {"preemption": 2, "infrastructure": 1}}
    found = shown(view(state, attempt=4, message=message, restarts=last))
    assert found["restarts"] == says
    assert all(found.values())


@pytest.mark.parametrize("line", ["[/b] closed", "[red]x[0]", "C:\\", "[link=x]"])
def test_what_a_job_prints_is_text(line: str) -> None:
    """Its last line stands in the message; rich takes brackets for markup and stumbles over what closes nothing."""
    message = f"rank 0 exited with code 1; its last line: {line}"
    last = {"attempt": 1, "message": message, "used": {"user": 1}}
    assert shown(view(State.FAILED, attempt=2, message=message))["message"] == message
    assert shown(view(State.RUNNING, attempt=2, restarts=last))["restarts"].endswith(line)
    told = ConversionView(conversion_id="c", name="m", owner="ann", state="failed", message=message,
                          requested_at="2026-12-01T10:00:00Z", last_seq=1)  # fmt: skip
    assert shown(view(State.SUCCEEDED, conversions=[told]))["conversion"].endswith(message)


def test_events_are_printed_as_they_are_and_in_columns() -> None:
    message = "its last line: [/b] closed"
    found = []
    for kind in ("failed", "suspending"):
        event = EventView(seq=1, time="t", id=f"j/{kind}", kind=kind, source="/t", data={"message": message})
        with output.console.capture() as captured:
            streams.show(event, as_json=False)
        found.append(captured.get().rstrip())
    assert [line.partition(message)[1:] for line in found] == [(message, "")] * 2
    assert len({len(line) for line in found}) == 1


def test_until_when_a_node_is_avoided() -> None:
    node = Node(name="n", backend="kubernetes", avoided_until=10_000.0, avoided_for="ann: its fans")
    words = nodes.avoided_words(node, 9_000.0)
    assert words.startswith("avoided until ")
    assert words.endswith(": ann: its fans")
    assert nodes.avoided_words(node, 10_000.0) == ""
    assert nodes.avoided_words(Node(name="n", backend="local"), 0.0) == ""


@pytest.mark.parametrize(
    ("state", "now", "asked", "says"),
    [
        (State.QUEUED, {}, {"worker": 4}, "4 × worker"),
        (State.RUNNING, {"ps": 1, "worker": 2}, {"ps": 1, "worker": 2}, "1 × ps, 2 × worker"),
        (State.RUNNING, {"worker": 2}, {"worker": 4}, "2 × worker now, 4 × worker asked for"),
        (State.FAILED, {"worker": 2}, {"worker": 4}, "2 × worker"),
    ],
)
def test_how_many_replicas_there_are_and_are_to_be(
    state: State, now: dict[str, int], asked: dict[str, int], says: str
) -> None:
    assert shown(view(state, replicas=asked, replicas_now=now))["replicas"] == says


def test_a_job_whose_results_were_not_kept_is_not_waited_for_to_be_converted() -> None:
    kept, asks = {"outputs": "file:///o"}, {"convert": {"model": "model:build"}}
    lost = view(State.SUCCEEDED, spec=asks, result={"seconds": 1.0})
    assert "TRAINYARD_OUTPUT_CLAIM" in (output.unconverted(lost) or "")
    assert exits.of_job(lost) == exits.NOT_SUCCESSFUL
    for job in (view(State.SUCCEEDED, spec=asks, result=kept), view(State.SUCCEEDED, spec={}, result={})):
        assert output.unconverted(job) is None
        assert exits.of_job(job) == exits.OK
    assert output.unconverted(view(State.FAILED, spec=asks, result={})) is None
