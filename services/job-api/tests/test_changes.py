"""Streams are woken by what moves their job, whenever that was."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.bus.port import Batch
from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.testing.builders import spec
from trainyard.job_api.adapters.changes import ChangeBoard
from trainyard.job_api.adapters.http import streams
from trainyard.job_api.app import JobApi
from trainyard.job_api.settings import Settings


def batch(job: str, seq: int) -> Batch:
    return Batch((Recorded(seq, events.JobSubmitted(job_id=job, spec=spec()), "", "", ""),), seq, caught_up=True)


async def test_what_comes_between_reading_and_waiting_is_kept() -> None:
    board = ChangeBoard()
    with board.watch("j") as watch:
        board.tell(batch("j", 7))
        assert await watch.wait(6, 3600)
        assert not await watch.wait(7, 0)


async def test_others_do_not_wake_it() -> None:
    board = ChangeBoard()
    with board.watch("j") as watch, board.watch("k") as other:
        board.tell(batch("k", 7))
        assert not await watch.wait(0, 0)
        assert await other.wait(0, 0)
    board.tell(batch("j", 8))
    with board.watch("j") as watch:
        assert not await watch.wait(0, 0)


class MovesAfterReading(MemoryBus):
    """Once a job's history has been read to its end, the job moves before the reader can do anything else."""

    def __init__(self) -> None:
        super().__init__()
        self.following: events.JobEvent | None = None
        self.board: ChangeBoard | None = None

    async def history(self, entity: str, entity_id: str, *, after: int = 0) -> AsyncIterator[Recorded[Any]]:
        last = after
        async for recorded in super().history(entity, entity_id, after=after):
            last = recorded.seq
            yield recorded
        if self.following is not None and self.board is not None:
            event, self.following = self.following, None
            seq = await self.append(event, after=last)
            self.board.tell(Batch((Recorded(seq, event, "", "", ""),), seq, caught_up=True))


@pytest.mark.timeout(10)  # a keep-alive comes after 15 seconds
async def test_a_stream_does_not_sleep_through_an_event(tmp_path: Path) -> None:
    bus = MovesAfterReading()
    api = JobApi(
        Settings(tmp_path, "127.0.0.1", 8470, "ann", True, Tokens(tmp_path / "tokens.json"), tmp_path / "logs"), bus
    )
    await api.start()
    job = events.JobSubmitted(job_id="j", spec=spec())
    await bus.append(job, after=0)
    bus.following, bus.board = events.JobRejected(job_id="j", message="no"), api._board
    told = [chunk async for chunk in streams._live(api._gateway, "job", "j", 0)]
    assert [b"event: submitted" in chunk for chunk in told] == [True, False]
    assert b"event: rejected" in told[-1]
    await api.close()
