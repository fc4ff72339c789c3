"""A PyTorch image for tests that need one: built once a run by the project's own cache, from its own recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.common.images import cache, catalogue

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def torch_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = catalogue.read(ROOT / "deploy" / "images", "pytorch-cpu")
    return cache.ensure(recipe, tmp_path_factory.mktemp("images"), lambda _: None).python
