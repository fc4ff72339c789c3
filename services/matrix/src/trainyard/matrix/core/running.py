"""Whether compiled code runs on a device: yes, no, or nobody knows. Pure, over the facts, remembered.

"The architecture stands in the list" is the wrong test: kernels run within one major version of compute capability, PTX
helps newer devices only with a driver that can compile it, and a driver may be new enough with limits or without.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from packaging.version import Version

from trainyard.matrix.core.facts import Capability, Facts, runs_on
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.wishes import specifier


class Fit(Enum):
    FULL = "full"
    LIMITED = "limited"
    NO = "no"
    UNKNOWN = "unknown"


@lru_cache(maxsize=4096)
def driver(facts: Facts, cuda: str, installed: DriverVersion) -> Fit:
    """Of a CUDA `major.minor` on an installed driver. Source: NVIDIA, "CUDA minor version compatibility"."""
    known = facts.drivers.get(cuda)
    if known is None:
        return Fit.UNKNOWN
    if installed >= known.full:
        return Fit.FULL
    return Fit.LIMITED if known.minimum is not None and installed >= known.minimum else Fit.NO


@lru_cache(maxsize=4096)
def build(facts: Facts, framework: str, version: Version, cuda: str, capability: Capability, machine: str) -> Fit:
    """Of an official wheel for one CUDA on a device."""
    floor = facts.floor(framework, capability)
    if floor is not None and (version < floor.release or Version(cuda) < floor.cuda):
        return Fit.NO
    rows = [
        row for row in facts.cubins.get((framework, cuda), ()) if version in row.releases and row.machine == machine
    ]
    if not rows:
        return Fit.UNKNOWN
    return Fit.FULL if any(row.run_on(capability) for row in rows) else Fit.NO


@lru_cache(maxsize=4096)
def release(facts: Facts, framework: str, version: Version, capability: Capability, machine: str) -> Fit:
    """Of a release in any of its builds for CUDA."""
    floor = facts.floor(framework, capability)
    if floor is not None and version < floor.release:
        return Fit.NO
    cudas = {
        row.stack_version for row in facts.builds.get(framework, ()) if row.stack == "cuda" and version in row.releases
    }
    fits = {build(facts, framework, version, cuda, capability, machine) for cuda in cudas}
    if Fit.FULL in fits:
        return Fit.FULL
    return Fit.NO if fits == {Fit.NO} else Fit.UNKNOWN


@lru_cache(maxsize=4096)
def any_release(facts: Facts, framework: str, wanted: str | None, capability: Capability, machine: str) -> Fit:
    """Of the releases that a version wish allows."""
    versions = [item.version for item in facts.releases.get(framework, ()) if item.version in specifier(wanted)]
    fits = {release(facts, framework, version, capability, machine) for version in versions}
    if Fit.FULL in fits:
        return Fit.FULL
    return Fit.NO if fits == {Fit.NO} else Fit.UNKNOWN


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
