"""Faults that were reported elsewhere, with real processes. The numbers are rows of their list (tests/architecture)."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract import events
from trainyard.common.errors import StaleSequence
from trainyard.common.lifecycle.states import EndReason
from trainyard.common.loopback import is_free
from trainyard.launcher.adapters.local.supervisor import record
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import AttemptPlan

pytestmark = pytest.mark.integration

LOST = 'until test -e "${TRAINYARD_REPORT%/*}/pid.json"; do sleep 0.02; done; kill -9 $PPID; sleep 60'
"""The supervisor is killed, which takes its rank along: nobody records the end. Killed before it has written whom it
supervises, it would count as never born, and be born again after ten seconds."""
TWICE = (
    "import os, socket; port = int(os.environ['TRAINYARD_MASTER_PORT']); "
    "print(port, file=open(os.environ['TRAINYARD_OUTPUT'] + '/port', 'a')); "
    "first = socket.create_server(('', port)); "
    "second = socket.create_server(('', port)) if os.environ['TRAINYARD_ATTEMPT'] == '1' else None"
)
"""The first attempt finds its port taken, in the words of a real process."""


async def restarts(world: Any, job: str) -> list[Any]:
    return [item.event async for item in world.bus.history("job", job) if item.event.kind == "restarting"]


async def test_10_what_was_spent_outlives_the_launcher(world: Any) -> None:
    job = await world.submit("exit 1", retries={"user": 2})
    await world.until(job, "restarting")
    await world.kill()
    await world.start()
    event = await world.until(job, "failed")
    assert event.attempt == 3
    assert [item.used for item in await restarts(world, job)] == [{"user": 1}, {"user": 2}]


async def test_11_a_lost_supervisor_leaves_the_users_retry_to_the_user(world: Any) -> None:
    command = f"case $TRAINYARD_ATTEMPT in 1) {LOST};; 2) exit 1;; esac"
    job = await world.submit(command, retries={"user": 1, "infrastructure": 1})
    event = await world.until(job, "succeeded", "failed", "lost")
    assert (event.kind, event.attempt) == ("succeeded", 3)
    told = await restarts(world, job)
    assert [(item.reason, item.budget) for item in told] == [
        (EndReason.LOST, "infrastructure"),
        (EndReason.ERROR, "user"),
    ]
    assert told[-1].used == {"infrastructure": 1, "user": 1}
    # This machine is named for what it did, and is the only one there is.
    assert [[item.node for item in event.blamed] for event in told] == [["node"], []]
    began = [item.event async for item in world.bus.history("job", job) if item.event.kind == "starting"]
    assert {event.avoids for event in began} == {()}


async def test_19_the_longest_names_are_taken(world: Any) -> None:
    role = "r" * 39
    job = await world.submit("true", name="9" + "n" * 39, roles={f"{role}1": {}, f"{role}2": {"replicas": 2}})
    assert (await world.until(job, "succeeded", "failed")).kind == "succeeded"


def test_20_ranks_are_told_an_address_and_no_name(plan: Callable[..., AttemptPlan], job: Callable[..., Job]) -> None:
    """One machine has no DNS to wait for: nothing that a rank connects to has to be looked up."""
    made = plan(job(framework="pytorch", processes=3))
    for rank in made.ranks:
        ends = [rank.env["TRAINYARD_MASTER_ADDR"], rank.env["MASTER_ADDR"], *rank.env["TRAINYARD_ENDPOINTS"].split(",")]
        assert {socket.inet_aton(end.partition(":")[0]) for end in ends} == {socket.inet_aton("127.0.0.1")}


async def test_21_a_port_that_was_taken_costs_no_retry_of_the_user(world: Any) -> None:
    job = await world.submit(f'exec {sys.executable} -c "{TWICE}"', retries={"user": 0})
    event = await world.until(job, "succeeded", "failed")
    assert (event.kind, event.attempt) == ("succeeded", 2), event
    first, second = world.output(job, "port").split()
    assert first != second
    [told] = await restarts(world, job)
    assert told.budget == "infrastructure"
    assert told.message.endswith("; a port was taken meanwhile, which counts as infrastructure")


@pytest.mark.parametrize(
    ("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, ""), (socket.AF_INET6, "::1")]
)
def test_21_a_port_is_free_when_nobody_holds_it_on_any_address(family: socket.AddressFamily, address: str) -> None:
    """A server on the wildcard meets one on loopback, of either family: frameworks listen on `[::]` where they can."""
    try:
        held = socket.create_server((address, 0), family=family)
    except OSError as error:
        pytest.skip(f"this machine has no {address or 'wildcard'}: {error}")
    port = held.getsockname()[1]
    with held:
        assert not is_free(port)
    assert is_free(port)


async def test_26_an_event_that_came_too_late_is_decided_again(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else moves the job between the look and the word: the word is refused, the job read again, then told."""
    refused: list[str] = []
    append = MemoryBus.append

    async def meddling(bus: MemoryBus, event: Any, **how: Any) -> int:
        if event.kind == "succeeded" and not refused:
            report = events.JobProgress(job_id=event.job_id, attempt=1, number=1, rank=0)
            await append(bus, report, after=how["after"])
            try:
                return await append(bus, event, **how)
            except StaleSequence:
                refused.append(event.kind)
                raise
        return await append(bus, event, **how)

    monkeypatch.setattr(MemoryBus, "append", meddling)
    job = await world.submit("true")
    await world.until(job, "succeeded")
    assert refused == ["succeeded"]
    assert (await world.kinds(job))[-3:] == ["running", "progress", "succeeded"]


async def test_27_a_job_that_has_ended_stays_so_whatever_is_said_later(world: Any) -> None:
    job = await world.submit("echo once >> $TRAINYARD_OUTPUT/runs")
    await world.until(job, "succeeded")
    last = (await world.bus.latest("job", job))[-1].seq
    await world.bus.append(events.JobRunning(job_id=job, attempt=1), after=last)  # past the table, as a bug would
    (world.rank(job) / record.EXIT).unlink()  # and the backend no longer knows how it ended
    await world.kill()
    await world.start()
    other = await world.submit("true")
    await world.until(other, "succeeded")
    await asyncio.sleep(0.5)
    assert (await world.kinds(job))[-2:] == ["succeeded", "running"], "nothing was written after it"
    assert world.output(job, "runs") == "once\n"
