"""What is known: releases, builds, compiled kernels, drivers, features. Tables of text, parsed and indexed once.

The rows stand in `facts/*.tsv` beside this package, each with its source and the date at which it was read there. A fact
that nobody has found is not in the tables, and no rule guesses it: what is unknown neither drops a candidate nor is taken
for fitting, and the linter lists it as a gap (`core/lint.py`). Adapters read the files; everything here is pure.
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

TABLES = ("releases", "requirements", "builds", "cubins", "floors", "drivers", "features", "hardware", "vendors")


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


def parse(tables: Mapping[str, str]) -> Facts:
    """From the text of each table. Raises ValueError that names table and row for what cannot be read."""
    rows = {name: read(name, text) for name, text in tables.items()}
    releases, builds, cubins, drivers = {}, {}, {}, {}  # type: ignore[var-annotated]
    for row in rows["releases"]:
        made = Release(row["framework"], Version(row["release"]), _words(row["pythons"]), _words(row["machines"]))
        releases.setdefault(made.framework, []).append(made)
    for row in rows["builds"]:
        build = Build(
            row["framework"], SpecifierSet(row["releases"]), row["stack"], row["stack_version"], row["status"]
        )
        builds.setdefault(build.framework, []).append(build)
    for row in rows["cubins"]:
        kernels = Cubins(
            row["framework"], SpecifierSet(row["releases"]), row["cuda"], row["machine"], row["cubins"], row["ptx"]
        )
        cubins.setdefault((kernels.framework, kernels.cuda), []).append(kernels)
    for row in rows["drivers"]:
        minimum = DriverVersion.of(row["minimum"]) if row["minimum"] else None
        driver = Driver(row["cuda"], DriverVersion.of(row["full"]), minimum)
        known = drivers.get(driver.cuda)
        drivers[driver.cuda] = min((known, driver) if known else (driver,), key=lambda item: item.full)
    newest = {
        name: tuple(sorted(found, key=lambda item: item.version, reverse=True)) for name, found in releases.items()
    }
    return Facts(
        releases=newest,
        requirements=tuple(
            Requirement(row["framework"], SpecifierSet(row["releases"]), row["needs"], SpecifierSet(row["range"]))
            for row in rows["requirements"]
        ),
        builds={name: tuple(found) for name, found in builds.items()},
        cubins={key: tuple(found) for key, found in cubins.items()},
        floors=tuple(
            Floor(row["framework"], capability(row["capability"]), Version(row["release"]), Version(row["cuda"]))
            for row in rows["floors"]
        ),
        drivers=drivers,
        features={row["feature"]: _feature(row) for row in rows["features"]},
        hardware=Hardware.of(rows["hardware"], rows["vendors"]),
        tables=rows,
    )


def read(name: str, text: str) -> tuple[Row, ...]:
    """Tab-separated with a heading; every row has as many cells as the heading."""
    head, *lines = text.rstrip("\n").split("\n")
    columns = head.split("\t")
    rows = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(columns):
            raise ValueError(f"{name}.tsv, line {number}: {len(cells)} cells, the heading has {len(columns)}")
        rows.append(dict(zip(columns, cells, strict=True)))
    return tuple(rows)


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
    return any(_serves(capability(native), wanted) for native in _words(natives))


def _serves(native: Capability, wanted: Capability) -> bool:
    return native[0] == wanted[0] and native[1] <= wanted[1]


def _feature(row: Row) -> Feature:
    return Feature(
        row["feature"], row["on"] == "cpu" or not row["stack"], row["framework"], SpecifierSet(row["releases"]), row["stack"],
        SpecifierSet(row["capability"]), row["provided"] == "image", row["instead"], row["meaning"],
    )  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
