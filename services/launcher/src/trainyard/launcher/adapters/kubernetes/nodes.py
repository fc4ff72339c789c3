"""The cluster's nodes into the inventory: what is there at first, then what changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import structlog

from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node
from trainyard.common.errors import InvalidInput, Unavailable
from trainyard.launcher.adapters.kubernetes import kinds
from trainyard.launcher.adapters.kubernetes.api import Api
from trainyard.launcher.adapters.kubernetes.watching import Informer, Scope
from trainyard.launcher.core.cluster.nodes import read

log = structlog.get_logger()

LOOK = 1.0  # seconds between two writes of what has changed
ALL = 300.0  # seconds after which everything is compared with the bucket


class ClusterNodes:
    def __init__(self, api: Api, clock: Clock, bucket: KeyValue, mine: Callable[[], bool]) -> None:
        """`mine`: whether this launcher is the one that tells."""
        self._bucket = bucket
        self._clock = clock
        self._mine = mine
        self._changed: dict[str, Node | None] = {}
        """Key → what is to be written; None: it is to go."""
        self._there: dict[str, Node] = {}
        self.marks: Callable[[], Mapping[str, tuple[float, str]]] = dict
        """Nodes that all jobs avoid: until when, and why."""
        self._marked: Mapping[str, tuple[float, str]] = {}
        self._nodes = Informer[Node](api, kinds.NODE, Scope(), clock, read, self._on_node)

    def by_name(self) -> Mapping[str, Node] | None:
        """None: they cannot be seen. Raises Unavailable while they are still being read."""
        if not self._nodes.synced and self._nodes.fault is None:
            raise Unavailable("the nodes of the cluster are still being read")
        return self._there if self._nodes.synced else None

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._nodes.run())
            group.create_task(self._tell())

    async def _tell(self) -> None:
        compared = float("-inf")
        while True:
            await asyncio.sleep(LOOK)
            if not (self._nodes.synced and self._mine()):
                compared = float("-inf")  # whoever takes over begins with everything
                continue
            self._mark()
            try:
                if self._clock.monotonic() - compared > ALL:
                    await self._compare()
                    compared = self._clock.monotonic()
                await self._write()
            except (Unavailable, InvalidInput) as error:
                log.warning("the inventory cannot be told", error=str(error))

    async def _compare(self) -> None:
        """What the bucket has of the cluster against what the cluster has."""
        there = {node.key: self._as_told(node) for node in self._nodes.all()}
        for entry in await self._bucket.entries():
            if not entry.key.startswith("kubernetes."):
                continue
            node = there.pop(entry.key, None)
            if node is None or node.dump() != entry.value:
                self._changed.setdefault(entry.key, node)
        for key, node in there.items():
            self._changed.setdefault(key, node)

    async def _write(self) -> None:
        for key in list(self._changed):
            node = self._changed[key]
            if node is None:
                await self._bucket.delete(key)
            else:
                await self._bucket.put(key, self._as_told(node).dump())
            if self._changed.get(key) is node:
                del self._changed[key]

    def _mark(self) -> None:
        """Nodes that have become avoided, or are so no longer, are told anew."""
        before, self._marked = self._marked, dict(self.marks())
        for name in before.keys() | self._marked.keys():
            node = self._nodes.get("", name)
            if node is not None and before.get(name) != self._marked.get(name):
                self._changed.setdefault(node.key, node)

    def _as_told(self, node: Node) -> Node:
        until, why = self._marked.get(node.name, (None, None))
        return node.model_copy(update={"avoided_until": until, "avoided_for": why}) if until else node

    def _on_node(self, before: Node | None, after: Node | None) -> None:
        node = after or before
        if after is not None:
            self._there[after.name] = after
        elif before is not None:
            self._there.pop(before.name, None)
        if node is not None and before != after:
            self._changed[node.key] = after
