"""Whether every release that is promised has its row. Pure.

`promises.tsv` says from which release on each framework is covered, `published.tsv` which releases there are: what PyPI or
the makers list, written down apart from what we know of each. So a release that nobody entered is missed by name, be it the
first, the last or a patch in the middle.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from trainyard.matrix.core.facts import Facts, Row
from trainyard.matrix.core.findings import Finding


def find(facts: Facts) -> Iterator[Finding]:
    """Faults: nothing here is a matter of not having found a source."""
    published = {framework: _versions(facts.tables["published"], framework) for framework in facts.releases}
    for promise in facts.tables["promises"]:
        framework = promise["framework"]
        rows = {release.version for release in facts.releases.get(framework, ())}
        yield from _of_promise(promise, rows, _versions(facts.tables["published"], framework))
    for framework, releases in facts.releases.items():
        for version in sorted({release.version for release in releases} - published[framework]):
            yield Finding("releases", f"{framework} {version}", "published.tsv does not list it", fault=True)


def _of_promise(promise: Row, rows: set[Version], published: set[Version]) -> Iterator[Finding]:
    framework, first = promise["framework"], Version(promise["first"])
    last = Version(promise["last"]) if promise["last"] else None
    name = f"{framework} {first}"
    if not rows:
        yield Finding("promises", name, "is promised, and no release has a row", fault=True)
    elif min(rows) > first:
        yield Finding("promises", name, f"is promised, and the first row is {min(rows)}", fault=True)
    if first not in published:
        yield Finding("promises", name, "is promised, and published.tsv does not list it", fault=True)
    for version in sorted(published - rows):
        if version >= first and (last is None or version <= last):
            yield Finding(
                "releases", f"{framework} {version}", f"is published and has no row{_where(version, rows)}", fault=True
            )


def _where(version: Version, rows: set[Version]) -> str:
    """Between which rows it is missing."""
    below = max((row for row in rows if row < version), default=None)
    above = min((row for row in rows if row > version), default=None)
    if below is not None and above is not None:
        return f" between {below} and {above}"
    return f" after {below}" if below is not None else f" before {above}" if above is not None else ""


def _versions(rows: tuple[Row, ...], framework: str) -> set[Version]:
    return {Version(row["release"]) for row in rows if row["framework"] == framework}
