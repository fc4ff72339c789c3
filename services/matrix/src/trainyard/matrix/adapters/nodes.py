"""The inventory that launchers keep in a bucket, as the matrix sees it: read at the start, then followed."""

from __future__ import annotations

import structlog
from pydantic import ValidationError

from trainyard.common.bus.keyvalue import Changes, Entry, KeyValue
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node
from trainyard.matrix.core import inventory
from trainyard.matrix.core.hardware import Hardware
from trainyard.matrix.core.inventory import Inventory

log = structlog.get_logger()


class BucketNodes:
    """Implements ports.Nodes."""

    def __init__(self, bucket: KeyValue, known: Hardware, clock: Clock) -> None:
        self._bucket = bucket
        self._hardware = known
        self._clock = clock
        self._known: dict[str, Node] = {}
        self._coming: dict[str, Node] = {}
        self._made: Inventory | None = None
        self._until = 0.0

    async def load(self) -> None:
        self._learn(Changes(tuple(await self._bucket.entries()), caught_up=True, anew=True))

    async def follow(self) -> None:
        """For ever."""
        async for changes in self._bucket.watch():
            self._learn(changes)

    def inventory(self) -> Inventory:
        """Made anew only when nodes have changed or one has expired."""
        now = self._clock.now().timestamp()
        if self._made is None or now > self._until:
            living = [node for node in self._known.values() if not node.expired(now)]
            self._until = min((node.expires_at for node in living if node.expires_at is not None), default=float("inf"))
            self._made = Inventory.of([sort for node in living for sort in _sorts(node)], self._hardware)
        return self._made

    def _learn(self, changes: Changes) -> None:
        if not changes.anew:
            self._apply(self._known, changes)
            return
        # A part of a cluster must not be taken for all of it: the new nodes count once they are all read.
        self._apply(self._coming, changes)
        if changes.caught_up:
            self._known, self._coming, self._made = self._coming, {}, None

    def _apply(self, nodes: dict[str, Node], changes: Changes) -> None:
        for item in changes.items:
            before, after = nodes.pop(item.key, None), _read(item) if isinstance(item, Entry) else None
            if after is not None:
                nodes[item.key] = after
            if before is None or after is None or not _alike(before, after):
                self._made = None


def _read(entry: Entry) -> Node | None:
    try:
        return Node.parse(entry.value)
    except ValidationError as error:
        log.warning("a node cannot be read", key=entry.key, error=str(error))
        return None


def _alike(before: Node, after: Node) -> bool:
    """But for how long they count."""
    return before.model_copy(update={"expires_at": after.expires_at}) == after


def _sorts(node: Node) -> list[inventory.Node]:
    """One entry for each product on the node."""
    found = [
        inventory.Node(node.name, group.product, group.count, group.driver, node.machine)
        for group in node.accelerators
        if group.count
    ]
    return found or [inventory.Node(node.name, "", 0, None, node.machine)]
