"""Whether compiled code runs on a device: yes, no, or nobody knows. Pure, over the facts, remembered.

"The architecture stands in the list" is the wrong test: kernels run within one major version of compute capability, PTX
helps newer devices only with a driver that can compile it, and a driver may be new enough with limits or without.

Of a framework's releases, sets are integers: bit i stands for its release i, newest first. What is remembered for each
device and each version wish is then one operation away from "does any release that is wanted run here?".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from packaging.version import Version

from trainyard.matrix.core.facts import Capability, Cubins, Facts, runs_on
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.wishes import specifier


class Fit(Enum):
    FULL = "full"
    LIMITED = "limited"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Releases:
    """What a framework's releases are on one sort of device."""

    full: int
    no: int


def driver(facts: Facts, cuda: str, installed: DriverVersion) -> Fit:
    """Of a CUDA `major.minor` on an installed driver. Source: NVIDIA, "CUDA minor version compatibility"."""
    known = facts.drivers.get(cuda)
    if known is None:
        return Fit.UNKNOWN
    if installed >= known.full:
        return Fit.FULL
    return Fit.LIMITED if known.minimum is not None and installed >= known.minimum else Fit.NO


def build(facts: Facts, framework: str, version: Version, cuda: str, capability: Capability, machine: str) -> Fit:
    """Of an official wheel for one CUDA on a device."""
    floor = facts.floor(framework, capability)
    if floor is not None and (version < floor.release or Version(cuda) < floor.cuda):
        return Fit.NO
    rows = [row for row in _kernels(facts, framework, version, cuda) if row.machine == machine]
    if not rows:
        return Fit.UNKNOWN
    return Fit.FULL if any(row.run_on(capability) for row in rows) else Fit.NO


@lru_cache(maxsize=8192)
def _kernels(facts: Facts, framework: str, version: Version, cuda: str) -> tuple[Cubins, ...]:
    return tuple(row for row in facts.cubins.get((framework, cuda), ()) if version in row.releases)


@lru_cache(maxsize=8192)
def _cudas(facts: Facts, framework: str, version: Version) -> frozenset[str]:
    """Every CUDA that a release is built for."""
    builds = facts.builds.get(framework, ())
    return frozenset(row.stack_version for row in builds if row.stack == "cuda" and version in row.releases)


def release(facts: Facts, framework: str, version: Version, capability: Capability, machine: str) -> Fit:
    """Of a release in any of its builds for CUDA."""
    floor = facts.floor(framework, capability)
    if floor is not None and version < floor.release:
        return Fit.NO
    cudas = _cudas(facts, framework, version)
    fits = {build(facts, framework, version, cuda, capability, machine) for cuda in cudas}
    if Fit.FULL in fits:
        return Fit.FULL
    return Fit.NO if fits == {Fit.NO} else Fit.UNKNOWN


@lru_cache(maxsize=2048)
def releases(facts: Facts, framework: str, capability: Capability, machine: str) -> Releases:
    """Of every release of a framework."""
    full = no = 0
    for i, item in enumerate(facts.releases.get(framework, ())):
        fit = release(facts, framework, item.version, capability, machine)
        full |= (fit is Fit.FULL) << i
        no |= (fit is Fit.NO) << i
    return Releases(full, no)


@lru_cache(maxsize=4096)
def wanted_releases(facts: Facts, framework: str, wanted: str | None) -> int:
    """The releases that a version wish allows."""
    versions = specifier(wanted)
    known = facts.releases.get(framework, ())
    return sum(1 << i for i, item in enumerate(known) if item.version in versions)


def any_release(facts: Facts, framework: str, wanted: str | None, capability: Capability, machine: str) -> Fit:
    """Of the releases that a version wish allows."""
    asked = wanted_releases(facts, framework, wanted)
    known = releases(facts, framework, capability, machine)
    if asked & known.full:
        return Fit.FULL
    return Fit.NO if asked and not asked & ~known.no else Fit.UNKNOWN


def newest_release(facts: Facts, framework: str, capability: Capability, machine: str) -> Version | None:
    """The newest that is known to run; None: none is."""
    full = releases(facts, framework, capability, machine).full
    return facts.releases[framework][(full & -full).bit_length() - 1].version if full else None


def image(facts: Facts, made: Image, capability: Capability, machine: str) -> Fit:
    """An image's own label counts before what is known of the framework's wheels."""
    if made.stack != "cuda" or made.version is None:
        return Fit.UNKNOWN
    if made.natives:
        return Fit.FULL if runs_on(made.natives, made.ptx, capability) else Fit.NO
    return build(facts, made.framework, made.version, made.cuda, capability, machine)


def on_driver(facts: Facts, made: Image, installed: DriverVersion | None) -> Fit:
    if not made.cuda or installed is None:
        return Fit.UNKNOWN
    return driver(facts, made.cuda, installed)
