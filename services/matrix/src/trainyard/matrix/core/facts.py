"""What is known: releases, builds, compiled kernels, drivers, features. Tables of text, parsed and indexed once.

The rows stand in `facts/*.tsv` beside this package, each with its source and the date at which it was read there. A fact
that nobody has found is not in the tables, and no rule guesses it: what is unknown neither drops a candidate nor is taken
for fitting, and the linter lists it as a gap (`core/lint.py`). Adapters read the files and
`core/reading.py` makes facts of their text; everything here is pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from trainyard.matrix.core.hardware import DriverVersion, Hardware

Row = Mapping[str, str]
Capability = tuple[int, int]
"""NVIDIA compute capability: (8, 6) is 8.6."""

TABLES = (
    "releases",
    "requirements",
    "builds",
    "cubins",
    "floors",
    "drivers",
    "features",
    "hardware",
    "vendors",
    "published",
    "promises",
)


@dataclass(frozen=True, slots=True)
class Release:
    framework: str
    version: Version
    pythons: tuple[str, ...]
    """Minor versions that have wheels on Linux."""
    machines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Requirement:
    """A framework that stands on another one: its kernels and accelerators are those of that one's builds."""

    framework: str
    releases: SpecifierSet
    needs: str
    range: SpecifierSet


@dataclass(frozen=True, slots=True)
class Build:
    """A framework compiled against an accelerator's stack: `cuda` 12.6, `rocm` 6.4, `cann` 8.5.0 …"""

    framework: str
    releases: SpecifierSet
    stack: str
    stack_version: str
    status: str


@dataclass(frozen=True, slots=True)
class Cubins:
    """Kernels in an official wheel."""

    framework: str
    releases: SpecifierSet
    cuda: str
    machine: str
    natives: str
    """`7.5,8.0,9.0`, or `5.0..9.0` for every generation between."""
    ptx: str

    def run_on(self, capability: Capability, *, compiles_ptx: bool = True) -> bool:
        return runs_on(self.natives, self.ptx if compiles_ptx else "", capability)


@dataclass(frozen=True, slots=True)
class Floor:
    """The first release and CUDA whose wheels know a compute capability."""

    framework: str
    capability: Capability
    release: Version
    cuda: Version


@dataclass(frozen=True, slots=True)
class Driver:
    cuda: str
    full: DriverVersion
    """From here on everything works."""
    minimum: DriverVersion | None
    """From here on by minor-version compatibility: no compiling of newer PTX."""


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    on_cpu: bool
    framework: str
    """Empty: of any."""
    releases: SpecifierSet
    stack: str
    capability: SpecifierSet
    in_image: bool
    """An image must bring it; else framework and hardware do."""
    instead: str
    meaning: str


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    releases: Mapping[str, tuple[Release, ...]] = field(default_factory=dict)
    """Framework → its releases, newest first."""
    requirements: tuple[Requirement, ...] = ()
    builds: Mapping[str, tuple[Build, ...]] = field(default_factory=dict)
    cubins: Mapping[tuple[str, str], tuple[Cubins, ...]] = field(default_factory=dict)
    """By framework and CUDA `major.minor`."""
    floors: tuple[Floor, ...] = ()
    drivers: Mapping[str, Driver] = field(default_factory=dict)
    """By CUDA `major.minor`: of its first update."""
    features: Mapping[str, Feature] = field(default_factory=dict)
    hardware: Hardware = field(default_factory=Hardware)
    tables: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    """Every row as it stands, for people and the linter."""

    def floor(self, framework: str, capability: Capability) -> Floor | None:
        """The highest floor at or below `capability` of the same generation: 12.1 is served from where 12.0 is."""
        fits = [f for f in self.floors if f.framework == framework and _serves(f.capability, capability)]
        return max(fits, key=lambda found: found.capability, default=None)


NOTHING_KNOWN = Facts()


def capability(text: str) -> Capability:
    major, minor = text.split(".")
    return int(major), int(minor)


def runs_on(natives: str, ptx: str, wanted: Capability) -> bool:
    """Native kernels run within one major version, on the same minor or a higher one; PTX helps every newer device.

    Source: CUDA C++ programming guide, "Binary compatibility" and "PTX compatibility".
    """
    if ptx and capability(ptx) <= wanted:
        return True
    if ".." in natives:
        low, high = (capability(end) for end in natives.split(".."))
        return low <= wanted and wanted[0] <= high[0]
    return any(_serves(capability(native), wanted) for native in words(natives))


def _serves(native: Capability, wanted: Capability) -> bool:
    return native[0] == wanted[0] and native[1] <= wanted[1]


def words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
