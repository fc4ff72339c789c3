"""What is wrong with the fact tables, and what they do not know. Pure.

Faults must not be merged: a row without a source, two rows that say the same, a range that cannot be read. Gaps are facts
that nobody has found yet: they are listed and never filled by guessing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from trainyard.matrix.core.facts import Facts, Row

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
}
"""What names a row in each table."""
_RANGES = {"features": ("capability",), "requirements": ("range",)}
"""Columns beside `releases` that are PEP 440 ranges."""
_RECHECK = ("recalled", "recheck")


@dataclass(frozen=True, slots=True)
class Finding:
    table: str
    row: str
    text: str
    fault: bool
    """False: a gap, or a source that should be read again."""


def lint(facts: Facts) -> list[Finding]:
    """Faults first."""
    found = [*_rows(facts), *_links(facts), *_requirements(facts), *_gaps(facts)]
    return sorted(found, key=lambda finding: not finding.fault)


def _rows(facts: Facts) -> Iterator[Finding]:
    for table, rows in facts.tables.items():
        seen: set[tuple[str, ...]] = set()
        for row in rows:
            key = tuple(row[column] for column in _KEYS[table])
            name = " ".join(key)
            if key in seen:
                yield Finding(table, name, "stands here twice", fault=True)
            seen.add(key)
            if not row["source"].strip():
                yield Finding(table, name, "has no source", fault=True)
            elif any(word in row["source"] for word in _RECHECK):
                yield Finding(table, name, f"should be read again: {row['source']}", fault=False)
            if not re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", row["date"]):
                yield Finding(table, name, f"{row['date']!r} is not a date (YYYY-MM-DD)", fault=True)
            yield from _range(table, name, row)


def _range(table: str, name: str, row: Row) -> Iterator[Finding]:
    for column in ("releases", *_RANGES.get(table, ())):
        try:
            SpecifierSet(row.get(column, ""))
        except InvalidSpecifier:
            yield Finding(table, name, f"{column} {row[column]!r} is not a PEP 440 range", fault=True)


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
    for framework, builds in facts.builds.items():
        known = [release.version for release in facts.releases.get(framework, ())]
        for build in builds:
            if not any(version in build.releases for version in known):
                text = f"{build.stack} {build.stack_version} {build.releases}: PyPI has no such release"
                yield Finding("builds", framework, text, fault=False)


def _requirements(facts: Facts) -> Iterator[Finding]:
    """Frameworks that stand on releases of another one that nobody knows."""
    for requirement in facts.requirements:
        needed = facts.releases.get(requirement.needs, ())
        if not any(release.version in requirement.range for release in needed):
            text = f"no release of {requirement.needs} that we know is in {requirement.range}"
            yield Finding("requirements", requirement.framework, text, fault=True)


def _gaps(facts: Facts) -> Iterator[Finding]:
    on_another = {requirement.framework for requirement in facts.requirements}
    for framework, releases in facts.releases.items():
        for release in releases if framework not in on_another else ():
            builds = [build for build in facts.builds.get(framework, ()) if release.version in build.releases]
            name = f"{framework} {release.version}"
            if not builds:
                yield Finding("builds", name, "no build for any accelerator is known", fault=False)
            elif framework == "pytorch" and not _kernels_known(facts, release.version):
                yield Finding("cubins", name, "the compute capabilities of its wheels are not known", fault=False)
    for product in facts.hardware.products.values():
        if product.memory is None:
            yield Finding("hardware", product.name, "its memory is not known", fault=False)
        if product.bf16 is None and (product.capability is None or product.capability >= (8, 0)):
            yield Finding("hardware", product.name, "its dense bf16 rate is not known", fault=False)


def _kernels_known(facts: Facts, version: Version) -> bool:
    return any(version in row.releases for (name, _), rows in facts.cubins.items() if name == "pytorch" for row in rows)
