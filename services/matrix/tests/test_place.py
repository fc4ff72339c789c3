"""An image has to be had where the job runs: made on a machine, or pulled by a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.images import catalogue as images
from trainyard.matrix.adapters.catalogue import CatalogueImages
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.images import Image
from trainyard.matrix.core.inventory import Inventory, Node
from trainyard.matrix.core.resolve import Rejection, resolve

A100 = "NVIDIA A100-SXM4-80GB"


@pytest.fixture(scope="module")
def shipped_images() -> list[Image]:
    return list(CatalogueImages(images.folder({})).all())


def answer(made: list[Image], *, container: bool, framework: str = "pytorch", gpus: int = 0) -> Resolution | Rejection:
    spec: dict[str, Any] = {"name": "a", "framework": framework, "command": "true"}
    if gpus:
        spec["resources"] = {"accelerators": gpus}
    node = Node("n", A100 if gpus else "", 8 if gpus else 0, "580.65.06" if gpus else None, container=container)
    here = Inventory.of([node], shipped().hardware)
    return resolve(JobSpec.model_validate(spec), Catalogue.of(made, shipped()), here)


def pinned(made: list[Image]) -> list[Image]:
    from dataclasses import replace  # noqa: PLC0415

    return [replace(image, reference=f"registry.example.com/{image.name}@sha256:{'a' * 64}") for image in made]


def test_a_machine_gets_what_can_be_made_there(shipped_images: list[Image]) -> None:
    found = answer(shipped_images, container=False, gpus=1)
    assert isinstance(found, Resolution)
    assert found.image == "pytorch-cu130"


def test_a_cluster_gets_the_best_that_it_can_pull(shipped_images: list[Image]) -> None:
    found = answer(pinned(shipped_images), container=True, gpus=1)
    assert isinstance(found, Resolution)
    assert found.image == "pytorch-cu130-flash"
    assert found.reference is not None


def test_what_cannot_be_made_says_why(shipped_images: list[Image]) -> None:
    refused = answer(shipped_images, container=False, framework="horovod")
    assert isinstance(refused, Rejection)
    assert "can be made on a machine without containers (horovod-cpu: Horovod 0.28.1 has no wheels" in refused.message


def test_what_was_never_pushed_says_how(shipped_images: list[Image]) -> None:
    refused = answer(shipped_images, container=True)
    assert isinstance(refused, Rejection)
    assert "was pushed to a registry and pinned by digest" in refused.message
    assert "yard images pin pytorch-cpu REGISTRY/NAME@sha256:…" in refused.nearest


def test_where_nobody_has_told_nothing_is_refused_for_it(shipped_images: list[Image]) -> None:
    spec = JobSpec.model_validate({"name": "a", "framework": "horovod", "command": "true"})
    assert isinstance(resolve(spec, Catalogue.of(shipped_images, shipped())), Resolution)
