"""Fixtures for every package's tests, loaded by the conftest.py at the root."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.bus.nats import NatsBus
from trainyard.common.images import cache, catalogue
from trainyard.common.testing.nats_server import NatsServer


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """One server for the whole run. Tests keep apart by fresh job ids and durables of their own."""
    server = NatsServer(tmp_path_factory.mktemp("nats"))
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture
async def nats_bus(nats_server: NatsServer) -> AsyncIterator[NatsBus]:
    bus = await NatsBus.connect(nats_server.url, source="/trainyard/test")
    yield bus
    await bus.close()


@pytest_asyncio.fixture
async def memory_bus() -> AsyncIterator[MemoryBus]:
    bus = MemoryBus()
    yield bus
    await bus.close()


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where images are built, once a run; TRAINYARD_TEST_IMAGES names a folder that outlives it. They are content-addressed,
    so everybody may share one."""
    given = os.environ.get("TRAINYARD_TEST_IMAGES")
    if given:
        return Path(given)
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="session")
def torch_python(images: Path) -> Path:
    """The interpreter of the image pytorch-cpu; TRAINYARD_TEST_TORCH_PYTHON names one that is there already."""
    given = os.environ.get("TRAINYARD_TEST_TORCH_PYTHON")
    if given:
        return Path(given)
    recipe = catalogue.read(catalogue.folder(os.environ), "pytorch-cpu")
    return cache.ensure(recipe, images, lambda words: None).python
