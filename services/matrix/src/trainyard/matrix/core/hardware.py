"""Accelerators of every vendor.

A product is one thing that can be bought (`a100-80g`); a family (`a100`) is what people write. The names of Kubernetes
resources, labels and variables belong to the vendor. What of them a yard has is its inventory (`core/inventory.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_MAKERS = r"nvidia|tesla|ascend|geforce|hbm\d*e?"
_FORMS = r"sxm\d*|pcie"
"""Words in what drivers and nodes call a product that its name here may do without."""


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
        words = name.lower()
        for noise in (r"(?!)", _MAKERS, _FORMS):
            words = re.sub(noise, " ", words)
            found = self._named.get(_plain(re.sub(r"(\d+)gb", r"\1g", words)))
            if found:
                return found
        # `NVIDIA H100 80GB HBM3`: the memory stands beside a name that does without it.
        memory = re.search(r"(?<![a-z0-9])(\d{1,4})gb?(?![a-z0-9])", words)
        if memory is None:
            return ()
        family = self._named.get(_plain(words[: memory.start()] + words[memory.end() :]), ())
        return tuple(product for product in family if product.memory == int(memory[1]))

    def kinds(self) -> list[str]:
        return sorted({vendor.kind for vendor in self.vendors.values()})

    def families(self) -> list[str]:
        return list(dict.fromkeys(product.family for product in self.products.values()))

    def vendor_of_resource(self, resource: str) -> Vendor | None:
        """`nvidia.com/gpu`, `nvidia.com/mig-1g.10gb` and `huawei.com/Ascend910B3` belong to a vendor's domain."""
        domain = resource.partition("/")[0]
        return next((found for found in self.vendors.values() if found.resource.partition("/")[0] == domain), None)


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
