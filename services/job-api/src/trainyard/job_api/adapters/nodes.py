"""The inventory that launchers keep in a bucket."""

from __future__ import annotations

from trainyard.common.bus.documents import document
from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.contract.inventory import Node


class BucketNodes:
    """Implements ports.Nodes."""

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    async def all(self, now: float) -> list[Node]:
        told = [document(entry, Node) for entry in await self._bucket.entries()]
        known = [node for node in told if node is not None and not node.expired(now)]
        return sorted(known, key=lambda node: (node.backend, node.name))
