"""Nodes that jobs keep away from: what decisions ask of them, and the launchers' own verdicts, told into the log.

What is known of each node is folded from the log with the jobs (adapters.projection), the nodes that there are come from the
cluster. One launcher of several tells; should two do so for a moment, the log takes one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from trainyard.common.bus.port import EventLog
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node
from trainyard.common.contract.nodes import Machine, NodeAvoided, NodeEvent
from trainyard.common.errors import StaleSequence, Unavailable
from trainyard.launcher.core import job as jobs
from trainyard.launcher.core.avoiding.choice import choose
from trainyard.launcher.core.avoiding.nodes import Choice
from trainyard.launcher.core.avoiding.record import REMEMBERED, Record
from trainyard.launcher.core.avoiding.verdict import Rules, room, verdict
from trainyard.launcher.core.job import Job

log = structlog.get_logger()

LOOK = 1.0  # seconds between two looks at what is known of nodes


class Avoidance:
    """Implements core.avoiding.nodes.Nodes."""

    def __init__(
        self,
        bus: EventLog,
        clock: Clock,
        rules: Rules,
        records: Callable[[], Mapping[str, Record]],
        nodes: Callable[[], Mapping[str, Node] | None],
    ) -> None:
        """`nodes`: by name; None: they cannot be seen. Raises Unavailable while they are being read."""
        self._bus = bus
        self._clock = clock
        self._rules = rules
        self._records = records
        self._nodes = nodes
        self._told: dict[str, int] = {}
        """Nodes that are avoided from the event of this sequence on, which may not have come back from the log yet."""

    @property
    def patience(self) -> float:
        return self._rules.patience

    def machine(self, name: str, at: float) -> Machine:
        node = (self._nodes() or {}).get(name)
        if node is None or (at and node.created_at is not None and node.created_at > at):
            return Machine(node=name)  # it is gone; what bears its name came later
        return node.itself

    def choose(self, job: Job) -> Choice:
        nodes = self._nodes()
        there = list(nodes.values()) if nodes is not None else None
        return choose(job, there, self._records(), self._rules, self._clock.now().timestamp())

    def usable(self, name: str) -> bool:
        nodes = self._nodes()
        return nodes is None or (name in nodes and nodes[name].fault is None)

    def marks(self) -> dict[str, tuple[float, str]]:
        """For people: the nodes that all jobs avoid at this moment, until when, and why."""
        nodes = self._nodes() or {}
        now = self._clock.now().timestamp()
        return {
            name: (round(record.until, 3), record.words)
            for name, record in self._records().items()
            if record.avoided(now) and name in nodes and record.is_of(nodes[name].itself)
            if record.by_hand or self._rules.on
        }

    async def judge(self, mine: Callable[[], bool]) -> None:
        """For ever. `mine`: whether this launcher is the one that tells."""
        while True:
            await asyncio.sleep(LOOK)
            if mine():
                try:
                    await self._judge(self._nodes() or {})
                except Unavailable as error:
                    log.info("no verdict on nodes yet", fault=str(error))

    async def _judge(self, nodes: Mapping[str, Node]) -> None:
        now = self._clock.now().timestamp()
        free = room(len(nodes)) - self._avoided(nodes, now)
        for name, record in list(self._records().items()):
            if not (record.strikes or record.well) or name not in nodes or not record.is_of(nodes[name].itself):
                continue
            event = verdict(record, self._rules, now, may=free > 0)
            if event is not None and await self._tell(event, record, now):
                free -= isinstance(event, NodeAvoided)

    async def _tell(self, event: NodeEvent, record: Record, now: float) -> bool:
        """Whether it was told. Raises Unavailable."""
        number = await self._last_word(record, now)
        if number is None:
            return False
        try:
            seq = await self._bus.append(event.model_copy(update={"number": number}), after=number)
        except StaleSequence:  # somebody has said something; the next look finds it
            return False
        if isinstance(event, NodeAvoided):
            self._told[event.node] = seq
        log.warning("a node", node=event.node, verdict=event.kind, why=event.message)
        return True

    async def _last_word(self, record: Record, now: float) -> int | None:
        """The sequence of the node's last event; None: it has not come here yet, and may change the verdict. What is
        known of a node that was well for long has been forgotten, its events have not."""
        told = await self._bus.latest("node", record.machine.node)
        if not told or told[-1].seq == record.seq:
            return record.seq
        forgotten = not record.seq and jobs.seconds(told[-1].time) < now - REMEMBERED
        return told[-1].seq if forgotten else None

    def _avoided(self, nodes: Mapping[str, Node], now: float) -> int:
        """Of the nodes that there are, those that are avoided without anybody having said so."""
        records = self._records()
        self._told = {name: seq for name, seq in self._told.items() if name in records and records[name].seq < seq}
        return len(self._told) + sum(
            record.avoided(now) and not record.by_hand and name in nodes and record.is_of(nodes[name].itself)
            for name, record in records.items()
            if name not in self._told
        )
