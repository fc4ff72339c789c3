"""Where a job could run: the sorts of nodes that the inventory tells of, or just the products that were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.matrix.core import changes
from trainyard.matrix.core.hardware import DriverVersion, Product
from trainyard.matrix.core.inventory import Inventory
from trainyard.matrix.core.wishes import Fault, Wish


@dataclass(frozen=True, slots=True)
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
        if self.product is None:
            return "any"
        driver = f", driver {self.driver}" if self.driver else ""
        nodes = f", {self.nodes} nodes of {self.per_node}" if self.nodes else ""
        return f"{self.product.describe()}{driver}{nodes}"


def of(wish: Wish, inventory: Inventory) -> list[Target] | Fault:
    """Empty for a job without accelerators."""
    if not wish.kinds:
        return []
    ranks = dict(zip(wish.products, wish.ranks, strict=True))
    found = [
        Target(sort.product, sort.driver, sort.machine, sort.count, sort.nodes, sort.called, ranks.get(sort.product, 0))
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
