"""Fixtures for every package's tests, loaded by the conftest.py at the root."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.bus.nats import NatsBus
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
