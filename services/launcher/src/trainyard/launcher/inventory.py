"""Tells the yard what nodes there are: writes into the bucket what has changed, and again what would expire."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import structlog

from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.clock import Clock
from trainyard.common.contract.inventory import Node, NodeAccelerators
from trainyard.common.errors import InvalidInput, Unavailable
from trainyard.launcher.core.devices import Device

log = structlog.get_logger()

EVERY = 60.0  # seconds
FORGOTTEN_AFTER = 600.0  # seconds of silence


def this_machine(*, name: str, machine: str, cpu: float, memory: int, devices: Sequence[Device]) -> Node:
    """A machine with its accelerators counted by product."""
    alike = Counter((device.product, device.kind, device.resource, device.memory, device.driver) for device in devices)
    return Node(
        name=name,
        backend="local",
        machine=machine,
        cpu=cpu,
        memory=memory,
        accelerators=tuple(
            NodeAccelerators(product=product, kind=kind, resource=resource, memory=size, driver=driver, count=count)
            for (product, kind, resource, size, driver), count in alike.items()
        ),
    )


async def tell(bucket: KeyValue, node: Node, clock: Clock) -> None:
    """For ever: this node, again before it is forgotten."""
    while True:
        told = node.model_copy(update={"expires_at": round(clock.now().timestamp() + FORGOTTEN_AFTER, 3)})
        try:
            await bucket.put(node.key, told.dump())
        except (Unavailable, InvalidInput) as error:
            log.warning("the inventory cannot be told", node=node.name, error=str(error))
        await asyncio.sleep(EVERY)


async def leave(bucket: KeyValue, name: str) -> None:
    """Jobs no longer run as processes of this machine: a launcher that came before told of it. Raises Unavailable."""
    key = Node(name=name, backend="local").key
    if await bucket.get(key) is not None:
        await bucket.delete(key)
