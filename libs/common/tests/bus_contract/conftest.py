"""`bus` is each implementation in turn: every test of this folder holds for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.bus.nats import NatsBus
from trainyard.common.bus.port import Bus


@pytest_asyncio.fixture(
    params=[
        "memory",
        pytest.param("nats", marks=pytest.mark.integration),
        pytest.param("container", marks=[pytest.mark.integration, pytest.mark.docker]),
    ]
)
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    made: Any
    if request.param == "memory":
        made = MemoryBus()
    elif request.param == "nats":
        made = await NatsBus.connect(request.getfixturevalue("nats_server").url, source="/trainyard/test")
    else:
        made = await NatsBus.connect(request.getfixturevalue("nats_container"), source="/trainyard/test")
    yield made
    await made.close()
