"""What a job wants, read once: versions, products, shares and features; or why its wish cannot be understood."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from trainyard.common.contract.explain import nearest
from trainyard.common.contract.jobs import Accelerators, JobSpec, Role
from trainyard.matrix.core.facts import Facts, Feature
from trainyard.matrix.core.hardware import Product, Vendor

LATEST = "latest"


@dataclass(frozen=True, slots=True)
class Wish:
    framework: str
    version: str | None
    """As it was written; None: any."""
    image: str | None
    features: tuple[str, ...]
    count: int
    """Accelerators of each process."""
    processes: int
    """On one machine."""
    products: tuple[Product, ...]
    """Best first; empty: any of `kinds`."""
    ranks: tuple[int, ...]
    """Of each product: products that one word means are equally welcome."""
    newest: bool
    """`latest` was asked for: the newest release counts before what an image brings."""
    kinds: tuple[str, ...]
    """Empty: none is asked for."""
    share: float | None
    resource: str | None
    vendor: Vendor | None
    """Of `resource`."""
    roles: tuple[str, ...] = ()
    """Those that ask for this; empty: the job does not name roles."""

    @property
    def on_a_node(self) -> int:
        """Accelerators that one replica needs on its machine."""
        return self.count * self.processes

    def versions(self) -> SpecifierSet:
        return specifier(self.version)

    def known_features(self, facts: Facts) -> list[Feature]:
        return [facts.features[name] for name in self.features if name in facts.features]


@dataclass(frozen=True, slots=True)
class Fault:
    rule: str
    text: str
    nearest: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    """Those whose wish it is; empty: the job does not name roles, or it is the whole job's."""


def read(spec: JobSpec, facts: Facts, image_features: Iterable[str] = ()) -> tuple[Wish, ...] | Fault:
    """The wishes of a job: one, or one for each request where its roles ask for different accelerators.

    Roles that ask for none have no wish of their own beside others that do: they run wherever the job's image runs.
    """
    version, features = spec.framework.version, tuple(getattr(spec.framework, "features", ()))
    if version in facts.features:  # `version: flash-attention`: whatever version brings it
        version, features = None, (*features, str(spec.framework.version))
    elif version == LATEST:
        version = None
    fault = _version_fault(version) or _feature_fault(features, facts, image_features)
    if fault is not None:
        return fault
    wishes = []
    for role, names in _requests(spec):
        wish = _hardware(spec, role, version, features, facts)
        if isinstance(wish, Fault):
            return replace(wish, roles=names if spec.roles else ())
        wishes.append(replace(wish, roles=names if spec.roles else ()))
    return tuple(wishes)


def _requests(spec: JobSpec) -> list[tuple[Role, tuple[str, ...]]]:
    """Roles that ask for the same accelerators go together; the first that asks comes first."""
    roles = spec.all_roles()
    found: dict[tuple[Accelerators, int], list[str]] = {}
    for name, role in roles.items():
        if role.resources.accelerators.count:
            found.setdefault((role.resources.accelerators, role.processes), []).append(name)
    alike = [tuple(names) for names in found.values()] or [tuple(roles)]
    return [(roles[names[0]], names) for names in alike]


def _hardware(spec: JobSpec, role: Role, version: str | None, features: tuple[str, ...], facts: Facts) -> Wish | Fault:
    asked = role.resources.accelerators
    products: dict[Product, int] = {}
    for rank, name in enumerate(asked.models):
        found = facts.hardware.find(name)
        if not found:
            return _unknown_product(name, facts)
        if asked.kind != "gpu" and found[0].kind != asked.kind:
            text = f"{name} is a {found[0].kind}, not a {asked.kind}"
            return Fault("product", text, (f'resources: {{accelerators: "{asked.count}({found[0].kind},{name})"}}',))
        products |= {product: rank for product in found if product not in products}
    vendor = facts.hardware.vendor_of_resource(asked.resource) if asked.resource else None
    if asked.resource and vendor is None and facts.hardware.vendors:
        known = [vendor.resource for vendor in facts.hardware.vendors.values()]
        return Fault("resource", f"no vendor has the resource {asked.resource}; {nearest(asked.resource, known)}")
    kinds = tuple(dict.fromkeys(product.kind for product in products)) or ((vendor.kind if vendor else asked.kind),)
    if facts.hardware.vendors and not set(kinds) <= {*facts.hardware.kinds(), "cpu"}:
        return Fault("kind", f"{kinds[0]!r} is no kind of accelerator; {nearest(kinds[0], facts.hardware.kinds())}")
    return Wish(
        framework=spec.framework.name,
        version=version,
        image=spec.image,
        features=features,
        count=asked.count,
        processes=role.processes,
        products=tuple(products),
        ranks=tuple(products.values()),
        newest=spec.framework.version == LATEST,
        kinds=kinds if asked.count and kinds != ("cpu",) else (),
        share=asked.share,
        resource=asked.resource,
        vendor=vendor,
    )


@cache
def specifier(text: str | None) -> SpecifierSet:
    """`2.1` alone means that very release and its patches. Raises InvalidSpecifier."""
    text = text or ""
    if text[:1].isdigit():
        text = f"=={text}.*" if text.count(".") < 2 else f"=={text}"
    return SpecifierSet(text)


def _version_fault(version: str | None) -> Fault | None:
    try:
        specifier(version)
    except InvalidSpecifier:
        text = f"framework.version {version!r} is not a version specifier"
        return Fault("version", text, ('write ">=2.1,<3" or "2.1"',))
    return None


def _feature_fault(features: tuple[str, ...], facts: Facts, of_images: Iterable[str]) -> Fault | None:
    known = sorted({*facts.features, *of_images})
    for name in features:
        if name not in known:
            return Fault("features", f"framework.features: {name!r} is not known; {nearest(name, known)}")
    return None


def _unknown_product(name: str, facts: Facts) -> Fault:
    names = [*facts.hardware.families(), *facts.hardware.products]
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    return Fault(
        "product",
        f"resources.accelerators: there is no accelerator {name!r}",
        tuple(f'resources: {{accelerators: "1({found})"}}' for found in close)
        or ("yard matrix show hardware lists them",),
    )
