"""An image for an accelerator is not built where there is none."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trainyard.common.images import catalogue, drivers, uv
from trainyard.common.images.dockerfile import render

CATALOGUE = Path(__file__).resolve().parents[3] / "deploy" / "images"
LOCAL_GPU = ("pytorch-cu130", "jax-cuda13", "tensorflow-cuda")


def test_a_machine_without_the_driver_says_so(tmp_path: Path) -> None:
    assert "it needs NVIDIA's driver, and this machine has none" in (drivers.missing("nvidia", tmp_path) or "")
    assert drivers.missing(None, tmp_path) is None


@pytest.mark.parametrize("sign", ["proc/driver/nvidia/version", "dev/nvidiactl", "dev/dxg"])
def test_the_driver_is_found_by_what_it_leaves(tmp_path: Path, sign: str) -> None:
    (tmp_path / sign).parent.mkdir(parents=True)
    (tmp_path / sign).touch()
    assert drivers.missing("nvidia", tmp_path) is None


@pytest.mark.parametrize("name", LOCAL_GPU)
def test_images_for_nvidia_are_locked_and_need_its_driver(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = catalogue.read(CATALOGUE, name)
    assert recipe.needs == "nvidia"
    assert "nvidia-" in recipe.lock
    assert "requirements.lock" in render(recipe)
    monkeypatch.setattr(drivers, "missing", lambda _: "no driver here")
    with pytest.raises(uv.Failed, match="no driver here"):
        uv.Builder(lambda _: None, threading.Event(), 0).build(recipe, Path("/nowhere"))
