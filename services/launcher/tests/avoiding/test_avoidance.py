"""The launchers' verdicts on nodes, told into the log; once, and after whatever was said before."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import NodeAvoided, NodeForgiven
from trainyard.common.projection.store import Store
from trainyard.common.testing.clock import ManualClock
from trainyard.launcher import avoidance
from trainyard.launcher.adapters.node_records import MOST, SCHEMA, NodeRecords
from trainyard.launcher.avoidance import Avoidance
from trainyard.launcher.core.avoiding.record import Record, Strike, told
from trainyard.launcher.core.avoiding.verdict import Rules

AT = 1_000_000.0
STRIKES = [("a", 1, AT - 5), ("b", 1, AT - 4), ("c", 1, AT - 3)]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, node: Callable[..., Node]) -> Callable[..., Any]:
    monkeypatch.setattr(avoidance, "LOOK", 0.005)

    async def run(bus: MemoryBus, known: Mapping[str, Record], clock: Clock, nodes: str = "nop") -> None:
        there = {name: node(name) for name in nodes}
        made = Avoidance(bus, clock, Rules(), lambda: known, lambda: there)
        with suppress(TimeoutError):
            await asyncio.wait_for(made.judge(lambda: True), 0.1)

    return run


async def said(bus: MemoryBus) -> list[Any]:
    return [item.event async for item in bus.history("node", "n")]


async def test_it_is_told_once(judge: Callable[..., Any], record: Callable[..., Record]) -> None:
    bus = MemoryBus()
    await judge(bus, {"n": record(*STRIKES)}, ManualClock(AT))
    [event] = await said(bus)
    assert (event.kind, event.until, event.number) == ("avoided", AT + 6 * 3600, 0)


async def test_not_of_the_only_node_or_of_one_that_is_gone(
    judge: Callable[..., Any], record: Callable[..., Record]
) -> None:
    bus = MemoryBus()
    for nodes in ("n", "op"):
        await judge(bus, {"n": record(*STRIKES)}, ManualClock(AT), nodes)
    assert await said(bus) == []


async def test_what_was_said_meanwhile_comes_first(judge: Callable[..., Any], record: Callable[..., Record]) -> None:
    """It is in the log and not folded yet: perhaps the node is forgiven."""
    clock = ManualClock(AT)
    bus = MemoryBus(clock=clock)
    seq = await bus.append(NodeForgiven(node="n", uid="uid-n", number=0, by="ann"), after=0)
    await judge(bus, {"n": record(*STRIKES)}, clock)
    assert len(await said(bus)) == 1
    clock.at += 8 * 86_400  # what is known of a node that was well for so long has been forgotten
    strikes = [(job, 1, clock.at - 1) for job in "abc"]
    await judge(bus, {"n": record(*strikes)}, clock)
    assert [(event.kind, event.number) for event in await said(bus)] == [("forgiven", 0), ("avoided", seq)]


async def test_a_cluster_that_loses_many_nodes_avoids_a_part_of_them(
    monkeypatch: pytest.MonkeyPatch, node: Any
) -> None:
    monkeypatch.setattr(avoidance, "LOOK", 0.005)
    bus, clock, there = MemoryBus(), ManualClock(AT), {name: node(name) for name in "abcdefghij"}
    struck = tuple(Strike(job, 1, AT - 1, "node-lost") for job in "xyz")
    known = {name: Record(item.itself, struck) for name, item in there.items()}
    made = Avoidance(bus, clock, Rules(), lambda: known, lambda: there)
    judging = asyncio.create_task(made.judge(lambda: True))
    for _ in range(40):
        await asyncio.sleep(0.005)
        for name in there:
            for item in [item async for item in bus.history("node", name)]:
                if known[name].seq < item.seq:
                    known[name] = told(known[name], item.event, item.seq, clock.at)
    judging.cancel()
    assert sum(record.avoided(AT) for record in known.values()) == 2
    assert sorted(made.marks()) == sorted(name for name, record in known.items() if record.avoided(AT))


def test_who_was_heard_of_longest_ago_is_forgotten_first_after_a_restart_too(tmp_path: Path) -> None:
    with Store(tmp_path / "x", SCHEMA, "log") as store:
        records = NodeRecords(store.db)
        for seq, (name, at) in enumerate((("z", AT), ("a", AT + 8 * 86_400)), start=1):
            records.told(NodeForgiven(node=name, number=0, by="ann"), seq, at)
        with store.transaction() as db:
            records.save(db)
        again = NodeRecords(store.db)
        assert list(again.all()) == list(records.all()) == ["a"]
        records.told(NodeForgiven(node="m", number=0, by="ann"), 3, AT + 7 * 86_400)
        with store.transaction() as db:
            records.save(db)
        assert list(NodeRecords(store.db).all()) == ["m", "a"]


def test_what_is_known_is_stored_and_bounded(tmp_path: Path) -> None:
    with Store(tmp_path / "x", SCHEMA, "log") as store:
        records = NodeRecords(store.db)
        for number in range(MOST + 10):
            event = NodeAvoided(node=f"n{number}", uid="u", number=0, by="ann", seconds=60, until=AT + 60, message="w")
            records.told(event, number + 1, AT)
        with store.transaction() as db:
            records.save(db)
        again = NodeRecords(store.db)
        assert again.all() == records.all()
        assert len(again.all()) == MOST
        assert "n9" not in again.all()
        again.told(NodeForgiven(node="n10", number=0, by="ann"), MOST + 11, AT + 8 * 86_400)
        assert list(again.all()) == ["n10"], "what says nothing any more is forgotten"
