"""What the facts mean: kernels, drivers, names of products."""

from __future__ import annotations

import pytest

from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.facts import runs_on
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.running import Fit, driver


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
        ("NVIDIA-H100-80GB-HBM3", {"h100-sxm", "h100-pcie"}),
        ("NVIDIA H100 PCIe", {"h100-pcie"}),
        ("h100-40g", set()),
        ("warp drive", set()),
    ],
)
def test_products_are_found_by_what_people_and_nodes_call_them(name: str, products: set[str]) -> None:
    assert {product.name for product in shipped().hardware.find(name)} == products


def test_a_node_with_the_commonest_h100_is_one() -> None:
    """What NVML and the node label of an H100 SXM5 say. The first that is found is what the node is taken for."""
    assert shipped().hardware.find("NVIDIA H100 80GB HBM3")[0].name == "h100-sxm"
