"""What is wrong with the fact tables, and what they do not know. Pure.

Faults must not be merged: a row without a source, two rows that say the same, a date that has not come yet, a release that
is promised and has no row (`core/coverage.py`). Gaps are facts that nobody has found yet, or that were read so long ago that
they should be read again: they are listed and never filled by guessing. What cannot be read at all, such as a range that is
not PEP 440, does not come as far as this: `core/reading.py` refuses it with its table and line.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from functools import lru_cache

from packaging.version import Version

from trainyard.matrix.core import coverage
from trainyard.matrix.core.facts import Facts, Row
from trainyard.matrix.core.findings import Finding

_KEYS: dict[str, tuple[str, ...]] = {
    "releases": ("framework", "release"),
    "requirements": ("framework", "releases", "needs"),
    "builds": ("framework", "releases", "stack", "stack_version", "status", "libraries"),
    "cubins": ("framework", "releases", "cuda", "machine"),
    "floors": ("framework", "capability"),
    "drivers": ("cuda", "update"),
    "features": ("feature",),
    "hardware": ("product",),
    "vendors": ("vendor",),
    "published": ("framework", "release"),
    "promises": ("framework",),
}
"""What names a row in each table."""
_VERSIONS = {"release"}
"""Columns whose cells are the same when the versions are: `2.1` and `2.1.0`."""
_VERSIONED = {"cuda", "rocm", "cann"}
"""Stacks of which a build is made for one version; the others tell their libraries instead."""
_RECHECK = ("recalled", "recheck")
_OLD = timedelta(days=365)
"""By then every framework has had releases that change what a page says."""


@lru_cache(maxsize=4)
def lint(facts: Facts, today: date) -> tuple[Finding, ...]:
    """Faults first."""
    found = [*_rows(facts, today), *coverage.find(facts), *_links(facts)]
    found += [*_requirements(facts), *_builds(facts), *_gaps(facts)]
    return tuple(sorted(found, key=lambda finding: not finding.fault))


def _rows(facts: Facts, today: date) -> Iterator[Finding]:
    for table, rows in facts.tables.items():
        seen: set[tuple[object, ...]] = set()
        for row in rows:
            cells = {column: row[column] for column in _KEYS[table]}
            name = " ".join(cells.values())
            key = tuple(Version(cell) if column in _VERSIONS else cell for column, cell in cells.items())
            if key in seen:
                yield Finding(table, name, "stands here twice", fault=True)
            seen.add(key)
            if not row["source"].strip():
                yield Finding(table, name, "has no source", fault=True)
            elif any(word in row["source"] for word in _RECHECK):
                yield Finding(table, name, f"should be read again: {row['source']}", fault=False)
            yield from _dated(table, name, row, today)


def _dated(table: str, name: str, row: Row, today: date) -> Iterator[Finding]:
    try:
        read = date.fromisoformat(row["date"])
    except ValueError:
        yield Finding(table, name, f"{row['date']!r} is not a date (YYYY-MM-DD)", fault=True)
        return
    if read > today:
        yield Finding(table, name, f"was read on {read}, which has not come yet", fault=True)
    elif today - read > _OLD:
        yield Finding(table, name, f"was read on {read}, more than a year ago: read it again", fault=False)


def _links(facts: Facts) -> Iterator[Finding]:
    """Rows that name what no other table knows."""
    for row in facts.tables["hardware"]:
        if row["vendor"] not in facts.hardware.vendors:
            yield Finding("hardware", row["product"], f"vendor {row['vendor']} is not in vendors", fault=True)
    for feature in facts.features.values():
        if feature.instead and feature.instead not in facts.features:
            yield Finding("features", feature.name, f"instead {feature.instead} is not a feature", fault=True)
    for cuda, driver in facts.drivers.items():
        if driver.minimum is not None and driver.minimum > driver.full:
            yield Finding("drivers", cuda, "the minimum is above the full driver", fault=True)


def _builds(facts: Facts) -> Iterator[Finding]:
    """Builds for what has no row, and builds of which the most important thing is not known."""
    for framework, builds in facts.builds.items():
        known = [release.version for release in facts.releases.get(framework, ())]
        for build in builds:
            text = f"{build.stack} {build.stack_version} {build.releases}"
            if not any(version in build.releases for version in known):
                yield Finding("builds", framework, f"{text}: there is no row for such a release", fault=False)
            if build.stack in _VERSIONED and not build.stack_version:
                yield Finding("builds", framework, f"{text}: which {build.stack} it needs is not known", fault=False)


def _requirements(facts: Facts) -> Iterator[Finding]:
    """Frameworks that stand on releases of another one that nobody knows."""
    for requirement in facts.requirements:
        needed = facts.releases.get(requirement.needs, ())
        if not any(release.version in requirement.range for release in needed):
            text = f"no release of {requirement.needs} that we know is in {requirement.range}"
            yield Finding("requirements", requirement.framework, text, fault=True)


def _gaps(facts: Facts) -> Iterator[Finding]:
    cudas = {build.stack_version for builds in facts.builds.values() for build in builds if build.stack == "cuda"}
    for cuda in sorted(cudas - {""} - set(facts.drivers)):
        yield Finding("drivers", cuda, "the driver that this CUDA needs is not known", fault=False)
    on_another = {requirement.framework for requirement in facts.requirements}
    for framework, releases in facts.releases.items():
        for release in releases if framework not in on_another else ():
            builds = [build for build in facts.builds.get(framework, ()) if release.version in build.releases]
            name = f"{framework} {release.version}"
            if not builds:
                yield Finding("builds", name, "no build for any accelerator is known", fault=False)
            unknown = {build.stack_version for build in builds if build.stack == "cuda"}
            unknown -= {cuda for cuda in unknown if _kernels_known(facts, framework, release.version, cuda)}
            if unknown:
                of = " and ".join(sorted(unknown, key=Version))
                yield Finding("cubins", name, f"the compute capabilities for CUDA {of} are not known", fault=False)
    for product in facts.hardware.products.values():
        if product.memory is None:
            yield Finding("hardware", product.name, "its memory is not known", fault=False)
        if product.bf16 is None and (product.capability is None or product.capability >= (8, 0)):
            yield Finding("hardware", product.name, "its dense bf16 rate is not known", fault=False)


def _kernels_known(facts: Facts, framework: str, version: Version, cuda: str) -> bool:
    return any(version in row.releases for row in facts.cubins.get((framework, cuda), ()))
