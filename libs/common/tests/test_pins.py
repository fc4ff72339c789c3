"""References of pushed images, told beside the catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.common.images import catalogue, pins

DIGEST = f"sha256:{'a' * 64}"
CATALOGUE = catalogue.folder({})


def file(folder: Path, text: str) -> dict[str, str]:
    (folder / "pins.yaml").write_text(text)
    return {"TRAINYARD_IMAGE_PINS": str(folder / "pins.yaml")}


def test_a_pin_is_laid_over_the_catalogue(tmp_path: Path) -> None:
    told = pins.read(file(tmp_path, f"pytorch-cpu: registry.example.com:5000/a/pytorch-cpu@{DIGEST}\n"))
    before = {recipe.name: recipe for recipe in catalogue.read_all(CATALOGUE)}
    after = {recipe.name: recipe for recipe in pins.lay_over(list(before.values()), told)}
    assert after["pytorch-cpu"].container.pinned == f"registry.example.com:5000/a/pytorch-cpu@{DIGEST}"
    assert {name: recipe for name, recipe in after.items() if name != "pytorch-cpu"} == {
        name: recipe for name, recipe in before.items() if name != "pytorch-cpu"
    }


def test_no_file_and_an_empty_file_pin_nothing(tmp_path: Path) -> None:
    assert pins.read({}) == pins.read(file(tmp_path, "")) == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytorch-cpu: registry/pytorch-cpu:latest", "has no digest"),
        ("pytorch-cpu: 3", "has no digest"),
        ("- a", "no mapping"),
        ("a: [", "cannot be read"),
    ],
)
def test_nonsense_is_refused_by_name(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=f"TRAINYARD_IMAGE_PINS.*{words}"):
        pins.read(file(tmp_path, text))


def test_a_pin_of_an_image_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="has no image pytorch-gpu"):
        pins.lay_over(catalogue.read_all(CATALOGUE), {"pytorch-gpu": ("a", DIGEST)})
