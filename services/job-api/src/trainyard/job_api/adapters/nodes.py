"""The inventory that launchers keep in a bucket."""

from __future__ import annotations

import structlog
from pydantic import ValidationError

from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.contract.inventory import Node

log = structlog.get_logger()


class BucketNodes:
    """Implements ports.Nodes."""

    def __init__(self, bucket: KeyValue) -> None:
        self._bucket = bucket

    async def all(self, now: float) -> list[Node]:
        found = []
        for entry in await self._bucket.entries():
            try:
                node = Node.parse(entry.value)
            except ValidationError as error:
                log.warning("a node cannot be read", key=entry.key, error=str(error))
                continue
            if not node.expired(now):
                found.append(node)
        return sorted(found, key=lambda node: (node.backend, node.name))
