"""The shipped tables are sound, and the linter finds what is not: each finding by a row that provokes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from importlib import resources

import pytest

from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.facts import TABLES, Facts
from trainyard.matrix.core.lint import lint
from trainyard.matrix.core.reading import parse

TEXTS = {name: resources.files("trainyard.matrix").joinpath("facts", f"{name}.tsv").read_text() for name in TABLES}
TODAY = date(2026, 12, 2)
AT = "somewhere\t2026-12-01"


def with_row(table: str, row: str) -> Facts:
    return parse({**TEXTS, table: f"{TEXTS[table]}{row}\n"})


def without(table: str, *beginnings: str) -> Facts:
    kept = [line for line in TEXTS[table].splitlines(keepends=True) if not line.startswith(beginnings)]
    assert len(kept) < len(TEXTS[table].splitlines()), "nothing was taken away"
    return parse({**TEXTS, table: "".join(kept)})


def told(facts: Facts, *, faults: bool, today: date = TODAY) -> Mapping[tuple[str, str], str]:
    """Everything that is said of a row, by table and row."""
    found: dict[tuple[str, str], str] = {}
    for item in lint(facts, today):
        if item.fault is faults:
            found[item.table, item.row] = f"{found.get((item.table, item.row), '')} {item.text}".strip()
    return found


def test_the_shipped_tables_have_no_faults() -> None:
    assert sum(len(rows) for rows in shipped().tables.values()) >= 900
    assert told(shipped(), faults=True, today=datetime.now(UTC).date()) == {}


def test_what_nobody_knows_is_listed() -> None:
    gaps = told(shipped(), faults=False)
    assert gaps["cubins", "pytorch 2.7.1"] == "the compute capabilities for CUDA 11.8 and 12.8 are not known"
    assert "no build" in gaps["builds", "mindspore 2.10.0"]
    assert ("builds", "lightning 2.6.6") not in gaps, "it has none of its own: torch's count"
    assert "which cann it needs is not known" in gaps["builds", "pytorch"]


@pytest.mark.parametrize(
    ("table", "row", "fault"),
    [
        ("floors", f"pytorch\t12.0\t2.7.0\t12.8\t{AT}", "stands here twice"),
        ("releases", f"mxnet\t1.9.1.0\t3.8\tx86_64\t{AT}", "stands here twice"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\t \t2026-12-01", "has no source"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tsomewhere\tyesterday", "is not a date"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tsomewhere\t2026-13-40", "is not a date"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tsomewhere\t2026-12-03", "which has not come yet"),
        ("releases", f"jax\t0.4.99\t3.10\tx86_64\t{AT}", "published.tsv does not list it"),
        ("published", f"jax\t0.4.99\t{AT}", "has no row between 0.4.38 and 0.5.0"),
        ("published", f"mindspore\t2.99.0\t{AT}", "has no row after 2.10.0"),
        ("promises", f"keras\t3.0.0\t\t{AT}", "no release has a row"),
        ("drivers", f"14.0\tGA\t600.1\t610\t{AT}", "the minimum is above the full driver"),
        ("hardware", f"x1\tx1\tacme\tgpu\tcuda\t\t\t\t\t{AT}", "vendor acme is not in vendors"),
        ("requirements", f"lightning\t==2.6.6\tpytorch\t>=9\t{AT}", "no release of pytorch that we"),
        ("features", f"x\t\t\t\tcuda\t>=8\timage\tnothing\tx\t{AT}", "instead nothing is not a feature"),
    ],
)
def test_a_faulty_row_is_found(table: str, row: str, fault: str) -> None:
    found = told(with_row(table, row), faults=True)
    assert any(fault in text for text in found.values()), found


@pytest.mark.parametrize(
    ("beginnings", "finding"),
    [
        (["jax\t0.4.0\t", "jax\t0.4.1\t"], ("promises", "jax 0.4.0", "the first row is 0.4.2")),
        (["pytorch\t2.1.1\t"], ("releases", "pytorch 2.1.1", "between 2.1.0 and 2.1.2")),
        (["pytorch\t2.15.0\t"], ("releases", "pytorch 2.15.0", "after 2.14.1")),
        (["mxnet\t"], ("promises", "mxnet 1.9.1", "no release has a row")),
    ],
)
def test_a_missing_release_is_found(beginnings: list[str], finding: tuple[str, str, str]) -> None:
    table, row, text = finding
    assert text in told(without("releases", *beginnings), faults=True)[table, row]


def test_a_first_release_that_nobody_publishes_is_found() -> None:
    assert "does not list it" in told(without("published", "paddle\t2.5.0\t"), faults=True)["promises", "paddle 2.5.0"]


@pytest.mark.parametrize(
    ("table", "row", "gap"),
    [
        ("builds", f"jax\t==0.4.99\tcuda\t12.1\twheel\t\t{AT}", "there is no row for such a release"),
        ("builds", f"jax\t==0.4.30\tcuda\t77.0\twheel\t\t{AT}", "the driver that this CUDA needs is not known"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tmemory (recheck)\t2026-12-01", "should be read again"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tsomewhere\t2025-12-01", "more than a year ago"),
    ],
)
def test_a_gap_is_found(table: str, row: str, gap: str) -> None:
    before, after = lint(shipped(), TODAY), lint(with_row(table, row), TODAY)
    assert any(gap in item.text and not item.fault for item in set(after) - set(before))


@pytest.mark.parametrize(
    ("table", "row", "error"),
    [
        ("floors", "pytorch\t12.0", r"floors\.tsv, line \d+: 2 cells, the heading has 6"),
        ("builds", f"jax\t=>0.4\tcuda\t12.1\twheel\t\t{AT}", r"builds\.tsv, line \d+: Invalid specifier: '=>0\.4'"),
        ("published", f"jax\tnewest\t{AT}", r"published\.tsv, line \d+: Invalid version: 'newest'"),
        ("drivers", f"14.0\tGA\tR610\t\t{AT}", r"drivers\.tsv, line \d+: 'R610' is not the version of a driver"),
    ],
)
def test_what_cannot_be_read_is_told_by_table_and_line(table: str, row: str, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        with_row(table, row)
