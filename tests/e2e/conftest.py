"""One yard for the end-to-end tests that do not break it, and fresh ones for those that do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def make_yard(tmp_path_factory: pytest.TempPathFactory, images: Path) -> Iterator[Callable[..., YardProcess]]:
    made: list[YardProcess] = []

    def make(**env: str) -> YardProcess:
        state = tmp_path_factory.mktemp("yard")
        (state / "images").symlink_to(images)
        yard = YardProcess(state, **env)
        made.append(yard)
        yard.start()
        return yard

    yield make
    for yard in made:
        yard.stop()


@pytest.fixture(scope="session")
def yard(make_yard: Callable[..., YardProcess]) -> YardProcess:
    return make_yard()


@pytest.fixture
def gateway(yard: YardProcess) -> Iterator[Yard]:
    with Yard(yard.url) as client:
        yield client


@pytest.fixture(scope="session")
def digits() -> Path:
    return ROOT / "examples" / "digits-pytorch"
