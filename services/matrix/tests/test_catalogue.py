"""The catalogue that is shipped, over the shipped facts: what a person without any of our test images gets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.images import catalogue
from trainyard.common.images.catalogue import Recipe
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.resolve import Rejection, resolve

FOLDER = Path(__file__).resolve().parents[3] / "deploy" / "images"
IMAGES = CatalogueImages(FOLDER).all()
CATALOGUE = Catalogue.of(IMAGES, shipped())


def ask(framework: str, accelerators: Any, *features: str) -> Resolution | Rejection:
    spec = {
        "name": "a",
        "framework": {"name": framework, "features": list(features)},
        "command": "true",
        "resources": {"accelerators": accelerators},
    }
    return resolve(JobSpec.model_validate(spec), CATALOGUE)


@pytest.mark.parametrize(
    ("framework", "accelerators", "image"),
    [
        ("pytorch", 0, "pytorch-cpu"),
        ("pytorch", "1(A100)", "pytorch-cu130-flash"),
        ("pytorch", "1(V100)", "pytorch-cu126"),
        ("pytorch", "1(B200)", "pytorch-cu130"),
        ("pytorch", "1(910B)", "pytorch-cann85"),
        ("pytorch", "1(MI300X)", "pytorch-rocm72"),
        ("mindspore", "8(npu,910B)", "mindspore-cann85"),
        ("jax", "1(H100)", "jax-cuda13"),
        ("deepspeed", "1(V100)", "deepspeed-cu126"),
        ("tensorflow", 0, "tensorflow-cpu"),
    ],
)
def test_what_fits(framework: str, accelerators: Any, image: str) -> None:
    answer = ask(framework, accelerators)
    assert isinstance(answer, Resolution), answer
    assert answer.image == image


def test_flash_attention_on_a_v100_is_refused_with_what_would_do() -> None:
    answer = ask("pytorch", "1(V100)", "flash-attention")
    assert isinstance(answer, Rejection)
    assert "v100 has compute capability 7.0" in answer.message
    assert answer.nearest == (
        'resources: {accelerators: "1(a10, a100, h100)"}',
        "framework: {name: pytorch, features: [sdpa]}",
    )


@pytest.mark.parametrize("image", [image for image in IMAGES if image.stack], ids=lambda image: image.name)
def test_labels_name_what_the_facts_know(image: Any) -> None:
    if image.cuda:
        assert image.cuda in shipped().drivers
    assert image.stack in {vendor.stack for vendor in shipped().hardware.vendors.values()}


RECIPES = [(recipe, need) for recipe in catalogue.read_all(FOLDER) for need in shipped().requirements
           if need.framework == recipe.framework and Version(recipe.version) in need.releases]  # fmt: skip
_PACKAGES = {"pytorch": "torch"}


@pytest.mark.parametrize(("recipe", "need"), RECIPES, ids=lambda value: getattr(value, "name", ""))
def test_an_image_brings_what_its_framework_stands_on(recipe: Recipe, need: Any) -> None:
    pinned = [Requirement(text) for text in (*recipe.cpu_build, *recipe.container.install)]
    package = _PACKAGES[need.needs]
    found = [next(iter(item.specifier)).version for item in pinned if item.name == package]
    assert found, f"{recipe.name} pins no {package}"
    assert all(version in need.range for version in found)
