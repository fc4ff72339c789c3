"""The shipped tables are sound, and the linter finds what is not."""

from __future__ import annotations

from importlib import resources

import pytest
from packaging.version import Version

from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core import facts
from trainyard.matrix.core.facts import TABLES, Facts, runs_on
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.lint import lint
from trainyard.matrix.core.running import Fit, driver

TEXTS = {name: resources.files("trainyard.matrix").joinpath("facts", f"{name}.tsv").read_text() for name in TABLES}


def with_row(table: str, row: str) -> Facts:
    return facts.parse({**TEXTS, table: f"{TEXTS[table]}{row}\n"})


def faults(of: Facts) -> list[str]:
    return [finding.text for finding in lint(of) if finding.fault]


def test_there_are_three_hundred_rows_and_no_faults() -> None:
    assert sum(len(rows) for rows in shipped().tables.values()) >= 300
    assert faults(shipped()) == []


def test_what_nobody_knows_is_listed() -> None:
    gaps = {(finding.table, finding.row): finding.text for finding in lint(shipped())}
    assert "not known" in gaps["cubins", "pytorch 2.5.0"]
    assert "no build" in gaps["builds", "pytorch 2.15.0"]
    assert ("builds", "lightning 2.6.6") not in gaps, "it has none of its own: torch's count"


@pytest.mark.parametrize(
    ("table", "row", "fault"),
    [
        ("floors", "pytorch\t12.0\t2.7.0\t12.8\tsomewhere\t2026-12-01", "stands here twice"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\t \t2026-12-01", "has no source"),
        ("floors", "jax\t12.0\t0.5.0\t12.8\tsomewhere\tyesterday", "is not a date"),
        ("requirements", "lightning\t==2.6.6\tpytorch\t>=9\tsomewhere\t2026-12-01", "no release of pytorch that we"),
        ("drivers", "14.0\tGA\t600.1\t610\tsomewhere\t2026-12-01", "the minimum is above the full driver"),
        ("hardware", "x1\tx1\tacme\tgpu\tcuda\t\t\t\t\tsomewhere\t2026-12-01", "vendor acme is not in vendors"),
        (
            "features",
            "x\t\t\t\tcuda\t>=8\timage\tnothing\tx\tsomewhere\t2026-12-01",
            "instead nothing is not a feature",
        ),
    ],
)
def test_a_faulty_row_is_found(table: str, row: str, fault: str) -> None:
    assert any(fault in text for text in faults(with_row(table, row))), faults(with_row(table, row))


def test_a_short_row_is_told_by_table_and_line() -> None:
    with pytest.raises(ValueError, match=r"floors\.tsv, line \d+: 2 cells, the heading has 6"):
        with_row("floors", "pytorch\t12.0")


@pytest.mark.parametrize(
    ("natives", "ptx", "capability", "runs"),
    [
        ("8.0,8.6,9.0", "", (8, 9), True),  # Ada on Ampere's kernels
        ("8.0,8.6,9.0", "", (12, 0), False),  # no fallback across generations
        ("8.6", "", (8, 0), False),  # nor to a lower minor
        ("7.5,8.0", "8.0", (9, 0), True),  # PTX helps forward
        ("7.5,8.0", "8.0", (7, 0), False),  # and not backward
        ("3.7..9.0", "", (7, 0), True),
        ("3.7..8.6", "", (8, 9), True),
        ("3.7..8.6", "", (9, 0), False),
        ("5.0..9.0", "", (3, 7), False),
    ],
)
def test_kernels_run_within_a_generation(natives: str, ptx: str, capability: tuple[int, int], runs: bool) -> None:
    assert runs_on(natives, ptx, capability) is runs


@pytest.mark.parametrize(
    ("cuda", "installed", "fit"),
    [
        ("12.8", "570.26", Fit.FULL),
        ("12.8", "535.54.03", Fit.LIMITED),
        ("12.8", "470.82.01", Fit.NO),
        ("13.0", "580.65.06", Fit.FULL),
        ("13.0", "575.57.08", Fit.NO),
        ("99.0", "600.1", Fit.UNKNOWN),
    ],
)
def test_drivers(cuda: str, installed: str, fit: Fit) -> None:
    assert driver(shipped(), cuda, DriverVersion.of(installed)) is fit


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("A100", {"a100-40g", "a100-80g"}),
        ("NVIDIA-A100-SXM4-80GB", {"a100-80g"}),
        ("Tesla-V100-SXM2-32GB", {"v100-32g"}),
        ("Ascend910B3", {"910b3"}),
        ("rtx 4090", {"rtx-4090"}),
        ("warp drive", set()),
    ],
)
def test_products_are_found_by_what_people_and_nodes_call_them(name: str, products: set[str]) -> None:
    assert {product.name for product in shipped().hardware.find(name)} == products


def test_every_pytorch_minor_since_1_13_is_there() -> None:
    minors = {release.version.release[:2] for release in shipped().releases["pytorch"]}
    assert minors >= {(1, 13), *((2, minor) for minor in range(15))}
    assert Version("2.11.0") in {release.version for release in shipped().releases["pytorch"]}
