"""What accelerators this yard has. Nodes that are alike form one class.

So a thousand nodes cost no more to look at than the handful of sorts among them. An inventory is a value: when nodes come
and go, `changed` gives the next one at the price of those nodes and a copy of the sorts, and whoever still looks at the one
before is not disturbed. Nothing that the resolver remembers depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from trainyard.matrix.core.hardware import DriverVersion, Hardware, Product

Sort = tuple[str, str | None, int, str, str]
"""Product, driver, accelerators on a node, machine and what the node's label calls the product."""


@dataclass(frozen=True, slots=True)
class Node:
    """What a node says of itself. `driver`: of the accelerator; `count`: accelerators that may be given away, 0 on a node
    that has none (its `product` is empty then)."""

    name: str
    product: str
    count: int
    driver: str | None = None
    machine: str = "x86_64"
    container: bool | None = None
    """Whether it runs containers, or processes as a machine of its own does; None: nobody said."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeClass:
    """Nodes that are alike. One of another number of nodes is another class: what is remembered of one stays true."""

    product: Product
    driver: DriverVersion | None
    count: int
    """Accelerators on each node."""
    machine: str
    nodes: int
    called: str
    """The product in the words of the node's own label."""


@dataclass(frozen=True, slots=True)
class Inventory:
    classes: tuple[NodeClass, ...] = ()
    nodes: int = 0
    """All that have told what they have."""
    unknown: int = 0
    """Those of them whose product is not in the registry."""
    containers: int = 0
    """Those of them that run containers."""
    machines: int = 0
    """Those of them that run processes."""
    _sorts: Mapping[Sort, NodeClass] = field(default_factory=lambda: MappingProxyType({}), compare=False, repr=False)

    @property
    def complete(self) -> bool:
        """Nodes have told what they have, and all of it is in the registry: what is not here is nowhere. Otherwise nothing
        is refused for not being there."""
        return self.nodes > 0 and not self.unknown

    @property
    def only_machines(self) -> bool:
        """Nothing here runs a container."""
        return self.nodes > 0 and self.machines == self.nodes

    @property
    def only_containers(self) -> bool:
        """Nothing here runs but containers."""
        return self.nodes > 0 and self.containers == self.nodes

    @classmethod
    def of(cls, nodes: Iterable[Node], hardware: Hardware) -> Inventory:
        """Nodes whose product is not in the registry are left out: nothing could be said of them."""
        return cls().changed(hardware, came=nodes)

    def changed(self, hardware: Hardware, *, came: Iterable[Node] = (), went: Iterable[Node] = ()) -> Inventory:
        """After some nodes came and others went, which must have been there. A node that changed went as it was and came as
        it is."""
        steps: Counter[Sort] = Counter()
        found: dict[str, tuple[Product, ...]] = {}
        all_nodes, unknown = self.nodes, self.unknown
        containers, machines = self.containers, self.machines
        for nodes, step in ((went, -1), (came, 1)):
            for node in nodes:
                if node.product not in found:
                    found[node.product] = hardware.find(node.product)[:1]
                all_nodes += step
                containers += step * (node.container is True)
                machines += step * (node.container is False)
                if not found[node.product] and node.count:
                    unknown += step
                for product in found[node.product]:
                    steps[product.name, node.driver, node.count, node.machine, node.product] += step
        sorts = dict(self._sorts)
        for sort, step in steps.items():
            left = step + (sorts[sort].nodes if sort in sorts else 0)
            if left > 0:
                sorts[sort] = _node_class(sort, left, hardware)
            else:
                sorts.pop(sort, None)
        return Inventory(tuple(sorts.values()), all_nodes, unknown, containers, machines, MappingProxyType(sorts))


def _node_class(sort: Sort, nodes: int, hardware: Hardware) -> NodeClass:
    name, driver, count, machine, called = sort
    return NodeClass(hardware.products[name], _driver(driver), count, machine, nodes, called)


def _driver(told: str | None) -> DriverVersion | None:
    """A node may say anything; what is no version is as good as unknown, and must not cost the other nodes."""
    try:
        return DriverVersion.of(told) if told else None
    except ValueError:
        return None
