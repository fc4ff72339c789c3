"""Messages that only nats-server has: too long ones, and ones that somebody else wrote where only we do."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from trainyard.common.bus import deadletters
from trainyard.common.bus.nats import NatsBus
from trainyard.common.bus.port import Subscription
from trainyard.common.contract import subjects
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import SubmitJob
from trainyard.common.errors import InvalidInput
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration


@pytest_asyncio.fixture
async def bus(nats_server: Any) -> AsyncIterator[NatsBus]:
    made = await NatsBus.connect(nats_server.url, source="/trainyard/test")
    yield made
    await made.close()


async def test_a_command_that_fits_into_no_message_is_refused_at_once(bus: NatsBus) -> None:
    command = SubmitJob(spec={"name": "a", "framework": "generic", "command": "x" * 3_000_000})
    async with asyncio.timeout(5):
        with pytest.raises(InvalidInput, match="at most 1048576 fit into a message"):
            await bus.request(command, timeout=30)


@pytest.mark.parametrize("seq", ["x", "\u00b2", "9" * 5000, ""])
async def test_a_replay_that_we_did_not_write_is_buried(bus: NatsBus, seq: str) -> None:
    durable = f"test-{uuid.uuid4().hex[:12]}"
    seen: list[Recorded[Any]] = []

    async def handle(recorded: Recorded[Any]) -> None:
        seen.append(recorded)

    running = await bus.consume(Subscription(durable, filters=(subjects.of_kind("job", "lost"),)), handle)
    headers = {deadletters.SUBJECT: "a.b", deadletters.SEQ: seq}
    await bus._client.jetstream().publish(subjects.replay(durable), b"x", headers=headers)

    async def buried() -> Any:
        return [letter for letter in await bus.dead_letters(limit=1000) if letter.consumer == durable]

    letters = await eventually(buried)
    await running.stop()
    assert "unreadable" in letters[0].reason
    assert not seen
