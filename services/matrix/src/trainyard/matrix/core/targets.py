"""Where a job could run: the sorts of nodes that the inventory tells of, or just the products that were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from trainyard.matrix.core import changes
from trainyard.matrix.core.hardware import DriverVersion, Product
from trainyard.matrix.core.inventory import Inventory, NodeClass
from trainyard.matrix.core.wishes import Fault, Wish


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """One sort of node. None: unknown, and no rule refuses for it."""

    product: Product | None
    driver: DriverVersion | None = None
    machine: str | None = None
    per_node: int | None = None
    nodes: int = 0
    called: str | None = None
    rank: int = 0
    """Place in the job's order of preference."""

    def describe(self) -> str:
        return _described(self)


@lru_cache(maxsize=4096)
def _described(target: Target) -> str:
    if target.product is None:
        return "any"
    driver = f", driver {target.driver}" if target.driver else ""
    nodes = f", {target.nodes} nodes of {target.per_node}" if target.nodes else ""
    return f"{target.product.describe()}{driver}{nodes}"


@lru_cache(maxsize=4096)
def _of_class(sort: NodeClass, rank: int) -> Target:
    """Remembered, since the same nodes stand there for every job."""
    return Target(sort.product, sort.driver, sort.machine, sort.count, sort.nodes, sort.called, rank)


def of(wish: Wish, inventory: Inventory) -> list[Target] | Fault:
    """Empty for a job without accelerators."""
    if not wish.kinds:
        return []
    ranks = dict(zip(wish.products, wish.ranks, strict=True))
    found = [
        _of_class(sort, ranks.get(sort.product, 0))
        for sort in inventory.classes
        if (sort.product in ranks if ranks else sort.product.kind in wish.kinds)
        and (wish.vendor is None or sort.product.vendor == wish.vendor.name)
    ]
    if found:
        return found
    if not inventory.complete:
        return [Target(product, rank=rank) for product, rank in ranks.items()] or [Target(None)]
    there = sorted({sort.product.family for sort in inventory.classes})
    wanted = (
        ", ".join(dict.fromkeys(product.family for product in wish.products)) or wish.resource or "/".join(wish.kinds)
    )
    return Fault(
        "inventory",
        f"no node here has {wanted}; there are: {', '.join(there) or 'no accelerators'}",
        tuple(changes.accelerators(wish.count, [family]) for family in there[:3]),
    )
