"""Every image there is, indexed against the facts, so that a job looks only at what can matter to it. Pure, built once.

Images stand newest first, and sets of them are integers: bit i stands for image i. What depends on images and facts alone
is worked out here, when a service starts or its catalogue changes: which image has which framework, runs on which kind and
stack, and has kernels for which compute capability. So neither a new job nor a new set of nodes pays for it; a job over a
thousand nodes and the whole catalogue costs a few operations on integers for each sort of node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from trainyard.matrix.core import running
from trainyard.matrix.core.facts import Capability, Facts, Feature
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.running import Fit
from trainyard.matrix.core.wishes import specifier

K = TypeVar("K")
MACHINES = ("x86_64", "aarch64")


@dataclass(frozen=True, slots=True)
class OnDriver:
    """What a driver makes of the images."""

    allowed: int
    """Not known to fail."""
    limited: int


@dataclass(frozen=True, slots=True, eq=False)
class Catalogue:
    facts: Facts
    images: tuple[Image, ...]
    """Newest first; among those of one release the ones with the least beside their framework."""
    features: frozenset[str]
    """What any of them brings."""
    by_framework: Mapping[str, int]
    by_name: Mapping[str, int]
    by_kind: Mapping[str, int]
    by_stack: Mapping[str, int]
    by_cuda: Mapping[str, int]
    by_feature: Mapping[str, int]
    on_machines: int
    """Those that can be made on a machine, without a container."""
    pinned: int
    """Those that a cluster can pull: pushed somewhere, and named by digest."""
    same_release: tuple[int, ...]
    """Of each image: all that are of the same release as it."""
    _kernels: Mapping[tuple[Capability, str], int]
    _extras: Mapping[tuple[str, Capability], tuple[int, ...]]

    @classmethod
    def of(cls, images: Iterable[Image], facts: Facts) -> Catalogue:
        ordered = tuple(
            sorted(images, key=lambda image: (*newest(image), -len(brought(facts, image)), image.name), reverse=True)
        )
        products = facts.hardware.products.values()
        devices = {(product.stack, product.capability) for product in products if product.capability is not None}
        releases = _sets(ordered, lambda image: [newest(image)])
        for framework in {image.framework for image in ordered}:
            for _, capability in devices:
                for machine in MACHINES:
                    running.releases(facts, framework, capability, machine)  # remembered from now on
        return cls(
            facts,
            ordered,
            frozenset(name for image in ordered for name in image.features),
            _sets(ordered, lambda image: [image.framework]),
            _sets(ordered, lambda image: [image.name]),
            _sets(ordered, lambda image: image.accelerators),
            _sets(ordered, lambda image: [image.stack]),
            _sets(ordered, lambda image: [image.cuda] if image.cuda else []),
            _sets(ordered, lambda image: image.features),
            _sets(ordered, lambda image: [not image.obstacle]).get(True, 0),
            _sets(ordered, lambda image: [image.reference is not None]).get(True, 0),
            tuple(releases[newest(image)] for image in ordered),
            {
                (capability, machine): _with_kernels(facts, ordered, capability, machine)
                for capability in {capability for _, capability in devices}
                for machine in MACHINES
            },
            {device: _by_extras(facts, ordered, *device) for device in devices},
        )

    @property
    def every(self) -> int:
        return (1 << len(self.images)) - 1

    def with_kernels(self, capability: Capability, machine: str) -> int:
        """Images that are not known to lack kernels for a device."""
        known = self._kernels.get((capability, machine))
        return _with_kernels(self.facts, self.images, capability, machine) if known is None else known

    def with_most_extras(self, bits: int, stack: str, capability: Capability) -> int:
        """Of a set, the images that bring most for a device beyond their framework."""
        return next((found for more in self._extras.get((stack, capability), ()) if (found := bits & more)), bits)

    def of_version(self, framework: str, wanted: str | None) -> int:
        """Images of a framework whose version a wish allows."""
        return _of_version(self, framework, wanted)

    def with_feature(self, name: str) -> int:
        """Images that bring a feature, or whose framework's release has it."""
        return _with_feature(self, name)

    def on_driver(self, driver: DriverVersion | None) -> OnDriver:
        if driver is None:
            return OnDriver(self.every, 0)
        return _on_driver(self, driver)

    def members(self, bits: int) -> Iterator[Image]:
        """Newest first."""
        while bits:
            yield self.images[(bits & -bits).bit_length() - 1]
            bits &= bits - 1

    def first(self, bits: int) -> Image:
        """The newest of a set that is not empty."""
        return self.images[self.index_of_first(bits)]

    @staticmethod
    def index_of_first(bits: int) -> int:
        return (bits & -bits).bit_length() - 1


def extras(facts: Facts, image: Image, stack: str, capability: Capability) -> list[str]:
    """Features that the image brings beyond its framework, and that a device is known to have."""
    text = f"{capability[0]}.{capability[1]}"
    return [feature.name for feature in brought(facts, image) if feature.stack == stack and text in feature.capability]


def brought(facts: Facts, image: Image) -> list[Feature]:
    if not image.features:
        return []
    known = [facts.features[name] for name in image.features if name in facts.features]
    return [feature for feature in known if feature.in_image]


@lru_cache(maxsize=4096)
def newest(image: Image) -> tuple[bool, tuple[int, ...]]:
    # `noop` is never chosen, only asked for: it comes after everything without being a rule of its own.
    return (image.name != "noop", image.version.release if image.version else ())


def _sets(images: Sequence[Image], keys: Callable[[Image], Iterable[K]]) -> dict[K, int]:
    sets: dict[K, int] = {}
    for i, image in enumerate(images):
        for key in keys(image):
            sets[key] = sets.get(key, 0) | 1 << i
    return sets


def _with_kernels(facts: Facts, images: Sequence[Image], capability: Capability, machine: str) -> int:
    fits = (running.image(facts, image, capability, machine) for image in images)
    return sum(1 << i for i, fit in enumerate(fits) if fit is not Fit.NO)


def _by_extras(facts: Facts, images: Sequence[Image], stack: str, capability: Capability) -> tuple[int, ...]:
    """Sets of images that bring equally much, most first; those that bring nothing are in none."""
    sets: dict[int, int] = {}
    for i, image in enumerate(images):
        if image.features and (count := len(extras(facts, image, stack, capability))):
            sets[count] = sets.get(count, 0) | 1 << i
    return tuple(sets[count] for count in sorted(sets, reverse=True))


@lru_cache(maxsize=256)
def _with_feature(catalogue: Catalogue, name: str) -> int:
    feature = catalogue.facts.features.get(name)
    if feature is None or feature.in_image:
        return catalogue.by_feature.get(name, 0)
    return sum(1 << i for i, image in enumerate(catalogue.images) if _framework_has(feature, image))


def _framework_has(feature: Feature, image: Image) -> bool:
    if not feature.framework or image.framework != feature.framework or image.version is None:
        return not feature.framework or image.framework == feature.framework or feature.name in image.features
    return image.version in feature.releases


@lru_cache(maxsize=4096)
def _of_version(catalogue: Catalogue, framework: str, wanted: str | None) -> int:
    versions = specifier(wanted)
    bits = 0
    for image in catalogue.members(catalogue.by_framework.get(framework, 0)):
        if image.version is not None and image.version in versions:
            bits |= catalogue.by_name[image.name]
    return bits


@lru_cache(maxsize=1024)
def _on_driver(catalogue: Catalogue, installed: DriverVersion) -> OnDriver:
    allowed, limited = catalogue.every, 0
    for cuda, bits in catalogue.by_cuda.items():
        fit = running.driver(catalogue.facts, cuda, installed)
        if fit is Fit.NO:
            allowed &= ~bits
        elif fit is Fit.LIMITED:
            limited |= bits
    return OnDriver(allowed, limited)
