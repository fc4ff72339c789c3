"""The inventory that launchers keep in a bucket, as the matrix sees it: read at the start, then followed.

Each node that comes, changes, goes or falls silent is counted by itself, so that a job which is resolved just then does not
wait for a thousand others to be counted anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.common.bus.documents import document
from trainyard.common.bus.keyvalue import Changes, Entry, KeyValue
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node
from trainyard.matrix.core import inventory
from trainyard.matrix.core.hardware import Hardware
from trainyard.matrix.core.inventory import Inventory

_DRIVER = "nvidia.com/cuda.driver-version.full"
"""Set by NVIDIA's GPU feature discovery."""


class BucketNodes:
    """Implements ports.Nodes."""

    def __init__(self, bucket: KeyValue, known: Hardware, clock: Clock) -> None:
        self._bucket = bucket
        self._hardware = known
        self._clock = clock
        self._known: dict[str, Node] = {}
        self._coming: dict[str, Node] = {}
        self._counted: dict[str, Node] = {}
        """What `_inventory` is made of: those that were not silent when it was last looked at."""
        self._inventory = Inventory()
        self._until = float("inf")
        """When the first of them falls silent, unless it speaks meanwhile."""

    async def load(self) -> None:
        self._learn(Changes(tuple(await self._bucket.entries()), caught_up=True, anew=True))

    async def follow(self) -> None:
        """For ever."""
        async for changes in self._bucket.watch():
            self._learn(changes)

    def inventory(self) -> Inventory:
        now = self._clock.now().timestamp()
        if now > self._until:
            self._count(now, [key for key in self._counted if self._known[key].expired(now)])
        return self._inventory

    def _learn(self, changes: Changes) -> None:
        if not changes.anew:
            self._count(self._clock.now().timestamp(), self._apply(self._known, changes))
            return
        # A part of a cluster must not be taken for all of it: the new nodes count once they are all read.
        self._apply(self._coming, changes)
        if changes.caught_up:
            before, self._known, self._coming = self._known, self._coming, {}
            self._count(self._clock.now().timestamp(), before.keys() | self._known.keys())

    def _apply(self, nodes: dict[str, Node], changes: Changes) -> set[str]:
        """The keys of those that were told of."""
        for item in changes.items:
            nodes.pop(item.key, None)
            after = document(item, Node) if isinstance(item, Entry) else None
            if after is not None:
                nodes[item.key] = after
        return {item.key for item in changes.items}

    def _count(self, now: float, keys: Iterable[str]) -> None:
        """Some nodes as they are now instead of as they were counted before."""
        went, came = list[inventory.Node](), list[inventory.Node]()
        for key in keys:
            before, after = self._counted.pop(key, None), self._known.get(key)
            after = None if after is None or after.expired(now) else after
            if after is not None:
                self._counted[key] = after
            if before is None or after is None or not _alike(before, after):
                went += _sorts(before, self._hardware) if before is not None else []
                came += _sorts(after, self._hardware) if after is not None else []
        if went or came:
            self._inventory = self._inventory.changed(self._hardware, went=went, came=came)
        ends = (node.expires_at for node in self._counted.values() if node.expires_at is not None)
        self._until = min(ends, default=float("inf"))


def _alike(before: Node, after: Node) -> bool:
    """But for how long they count."""
    return before.model_copy(update={"expires_at": after.expires_at}) == after


def _sorts(node: Node, known: Hardware) -> list[inventory.Node]:
    """One entry for each product on the node; one without a product for a resource that no label explains."""
    container = node.backend != "local"
    found = [
        inventory.Node(node.name, group.product, group.count, group.driver, node.machine, container)
        for group in node.accelerators
        if group.count > 0
    ]
    for resource, count in node.resources.items():
        vendor = known.vendor_of_resource(resource)
        if vendor is not None and count:
            product = node.labels.get(vendor.label, "") if vendor.label else ""
            driver = node.labels.get(_DRIVER) if vendor.stack == "cuda" else None
            found.append(inventory.Node(node.name, product, int(count), driver, node.machine, container))
    return found or [inventory.Node(node.name, "", 0, None, node.machine, container)]
