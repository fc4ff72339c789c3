"""Accelerators of every vendor, and what of them this yard has.

A product is one thing that can be bought (`a100-80g`); a family (`a100`) is what people write. The names of Kubernetes
resources, labels and variables belong to the vendor. Nodes that are alike form one class, so that a thousand nodes cost no
more to look at than the handful of sorts among them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, order=True)
class DriverVersion:
    """`535.54.03`: compared by its numbers, shown as its vendor writes it (PEP 440 would drop the zero)."""

    numbers: tuple[int, ...]
    text: str = field(compare=False)

    @classmethod
    def of(cls, text: str) -> DriverVersion:
        """Raises ValueError for what does not begin with a number."""
        numbers = re.match(r"\d+(\.\d+)*", text)
        if numbers is None:
            raise ValueError(f"{text!r} is not the version of a driver")
        return cls(tuple(int(part) for part in numbers[0].split(".")), text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Vendor:
    name: str
    kind: str
    stack: str
    resource: str
    """What a pod asks for, such as `nvidia.com/gpu`."""
    label: str
    """The node label that names the product; empty where nobody sets one."""
    visible: str
    """The variable that tells a process which devices are its own; empty: unknown."""
    slice_prefix: str
    """Before the name of a hardware slice, such as `nvidia.com/mig-`; empty: it has none."""
    share_resource: str
    """What a pod asks for a share of one device, in percent; empty: it cannot be shared."""


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    name: str
    family: str
    vendor: str
    kind: str
    stack: str
    memory: int | None
    """GiB."""
    capability: tuple[int, int] | None
    """NVIDIA compute capability."""
    interconnect: str
    bf16: float | None
    """Dense TFLOPS; None: unknown, or it has no such units."""

    def describe(self) -> str:
        memory = f" {self.memory} GiB" if self.memory else ""
        capability = f", compute capability {self.capability[0]}.{self.capability[1]}" if self.capability else ""
        return f"{self.name} ({self.vendor}{memory}{capability})"


@dataclass(frozen=True, slots=True)
class Hardware:
    products: Mapping[str, Product] = field(default_factory=dict)
    vendors: Mapping[str, Vendor] = field(default_factory=dict)
    _named: Mapping[str, tuple[Product, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, products: Iterable[Mapping[str, str]], vendors: Iterable[Mapping[str, str]]) -> Hardware:
        made = {row["product"]: _product(row) for row in products}
        named: dict[str, list[Product]] = {}
        for product in made.values():
            for name in {_plain(product.name), _plain(product.family)}:
                named.setdefault(name, []).append(product)
        columns = ("vendor", "kind", "stack", "resource", "label", "visible", "slice_prefix", "share_resource")
        return cls(
            made,
            {row["vendor"]: Vendor(*(row[column] for column in columns)) for row in vendors},
            {name: tuple(found) for name, found in named.items()},
        )

    def find(self, name: str) -> tuple[Product, ...]:
        """Every product that `name` may mean: `A100` both of them, `NVIDIA-A100-SXM4-80GB` that one. Empty: unknown."""
        plain = _plain(name)
        if plain in self._named:
            return self._named[plain]
        words = re.sub(r"nvidia|tesla|sxm\d*|pcie|ascend|geforce|hbm\d*e?", " ", name.lower())
        plain = _plain(re.sub(r"(\d+)gb", r"\1g", words))
        return self._named.get(plain, ())

    def kinds(self) -> list[str]:
        return sorted({vendor.kind for vendor in self.vendors.values()})

    def families(self) -> list[str]:
        return list(dict.fromkeys(product.family for product in self.products.values()))

    def vendor_of_resource(self, resource: str) -> Vendor | None:
        """`nvidia.com/gpu`, `nvidia.com/mig-1g.10gb` and `huawei.com/Ascend910B3` belong to a vendor's domain."""
        domain = resource.partition("/")[0]
        return next((found for found in self.vendors.values() if found.resource.partition("/")[0] == domain), None)


@dataclass(frozen=True, slots=True)
class Node:
    """What a node says of itself. `driver`: of the accelerator; `count`: accelerators that may be given away, 0 on a node
    that has none (its `product` is empty then)."""

    name: str
    product: str
    count: int
    driver: str | None = None
    machine: str = "x86_64"


@dataclass(frozen=True, slots=True)
class NodeClass:
    """Nodes that are alike."""

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
    complete: bool = False
    """Nodes have told what they have, and all of it is in the registry: what is not here is nowhere. Otherwise nothing is
    refused for not being there."""

    @classmethod
    def of(cls, nodes: Sequence[Node], hardware: Hardware) -> Inventory:
        """Nodes whose product is not in the registry are left out: nothing could be said of them."""
        counted: Counter[tuple[str, str | None, int, str, str]] = Counter()
        complete = bool(nodes)
        for node in nodes:
            found = hardware.find(node.product)
            complete = complete and (bool(found) or not node.count)
            for product in found[:1]:
                counted[product.name, node.driver, node.count, node.machine, node.product] += 1
        return cls(
            tuple(
                NodeClass(
                    hardware.products[name], DriverVersion.of(driver) if driver else None, count, machine, nodes, called
                )
                for (name, driver, count, machine, called), nodes in counted.items()
            ),
            complete,
        )


def _product(row: Mapping[str, str]) -> Product:
    major, _, minor = row["capability"].partition(".")
    return Product(
        row["product"], row["family"], row["vendor"], row["kind"], row["stack"],
        int(row["memory_gib"]) if row["memory_gib"] else None,
        (int(major), int(minor)) if major else None,
        row["interconnect"],
        float(row["bf16_tflops"]) if row["bf16_tflops"] else None,
    )  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())
