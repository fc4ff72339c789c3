"""The catalogue's index gives what a look at every image would give; unseen nodes cost no more than known ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core import scoring
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.hardware import DriverVersion
from trainyard.matrix.core.inventory import Inventory, Node
from trainyard.matrix.core.resolve import resolve
from trainyard.matrix.core.targets import Target

CATALOGUE = Catalogue.of(CatalogueImages(Path(__file__).resolve().parents[3] / "deploy" / "images").all(), shipped())
PRODUCTS = st.sampled_from([None, *shipped().hardware.products.values()])
DRIVERS = st.sampled_from([None, *map(DriverVersion.of, ("450.80.02", "535.54.03", "570.26", "580.65.06"))])
TARGETS = st.builds(Target, PRODUCTS, DRIVERS, machine=st.sampled_from([None, "x86_64", "aarch64"]))
SETS = st.integers(0, CATALOGUE.every)


@given(SETS, TARGETS, st.booleans())
def test_the_best_is_the_one_with_the_highest_score(bits: int, target: Target, newest_first: bool) -> None:
    best = scoring.best(CATALOGUE, bits, target, newest_first=newest_first)
    scores = {
        image: scoring.score(CATALOGUE, image, target, newest_first=newest_first) for image in CATALOGUE.members(bits)
    }
    assert best == max(scores, key=lambda image: scores[image], default=None)


@given(SETS)
def test_a_set_is_its_members(bits: int) -> None:
    assert sum(CATALOGUE.by_name[image.name] for image in CATALOGUE.members(bits)) == bits


def test_members_come_newest_first() -> None:
    versions = [
        image.version.release for image in CATALOGUE.members(CATALOGUE.by_framework["pytorch"]) if image.version
    ]
    assert versions == sorted(versions, reverse=True)


def calls(work: Callable[[], object]) -> int:
    """How many functions are entered; unlike seconds the same on a busy machine."""
    seen = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal seen
        seen += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("accelerators", [{"gpu": 1}, {"any": ["h100", "a100"]}, "1(B200)"])
def test_nodes_never_seen_before_cost_as_much_as_known_ones(accelerators: Any) -> None:
    spec = JobSpec.model_validate(
        {"name": "a", "framework": "pytorch<2.12", "command": "true", "resources": {"accelerators": accelerators}}
    )

    def of_driver(driver: str) -> Inventory:
        products = ("NVIDIA-A100-SXM4-80GB", "Tesla-T4", "H100-SXM", "B200")
        return Inventory.of([Node(f"n{i}", products[i % 4], 8, driver) for i in range(40)], shipped().hardware)

    known, new = of_driver("580.65.06"), of_driver("580.65.123")
    resolve(spec, CATALOGUE, known)
    warm = calls(lambda: resolve(spec, CATALOGUE, known))
    cold = calls(lambda: resolve(spec, CATALOGUE, new))
    assert cold < 1.3 * warm
