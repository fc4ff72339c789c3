"""A task that loses its first cancel is ended all the same."""

from __future__ import annotations

import asyncio

from trainyard.common import cancelling
from trainyard.common.cancelling import cancelled


async def test_a_lost_cancel_is_sent_again() -> None:
    lost: list[str] = []

    async def careless() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append("once")

    cancelling.AGAIN, before = 0.01, cancelling.AGAIN
    try:
        task = asyncio.create_task(careless())
        await asyncio.sleep(0)
        await asyncio.wait_for(cancelled(task), timeout=5)
    finally:
        cancelling.AGAIN = before
    assert lost == ["once"]
    assert task.cancelled()


async def test_what_has_ended_or_fails_is_passed_over() -> None:
    async def fails() -> None:
        raise OSError("gone")

    done, failing = asyncio.create_task(asyncio.sleep(0)), asyncio.create_task(fails())
    await asyncio.sleep(0.01)
    await cancelled(done, failing)
