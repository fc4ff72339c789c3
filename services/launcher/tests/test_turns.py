"""Room by turns: nobody keeps it for ever while others wait."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from trainyard.common.cancelling import cancelled
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.adapters.kubernetes.turns import Turns

NEVER = asyncio.Event()


async def hold(turns: Turns, held: list[int], number: int) -> None:
    """Comes back for another turn, for ever."""
    while True:
        async with turns.turn(unless=NEVER) as room:
            assert room
            held.append(number)
            await asyncio.sleep(3600)


async def test_everybody_has_a_turn_and_no_more_than_fit_at_once() -> None:
    turns, held = Turns(2, 0.01), list[int]()
    tasks = [asyncio.create_task(hold(turns, held, number)) for number in range(5)]
    await eventually(lambda: all(held.count(number) >= 3 for number in range(5)))
    await cancelled(*tasks)
    assert max(held.count(number) for number in range(5)) <= min(held.count(number) for number in range(5)) + 2


async def test_a_turn_lasts_where_nobody_waits() -> None:
    turns, held = Turns(2, 0.01), list[int]()
    tasks = [asyncio.create_task(hold(turns, held, number)) for number in range(2)]
    await asyncio.sleep(0.2)
    await cancelled(*tasks)
    assert sorted(held) == [0, 1]


async def test_who_no_longer_wants_room_does_not_wait_for_it() -> None:
    turns, over = Turns(1, 3600.0), asyncio.Event()
    async with turns.turn(unless=NEVER):
        over.set()
        async with turns.turn(unless=over) as room:
            assert not room
    async with turns.turn(unless=NEVER) as room:  # nothing was lost
        assert room


async def test_who_is_cancelled_while_it_waits_takes_no_room_along() -> None:
    turns = Turns(1, 3600.0)
    async with turns.turn(unless=NEVER):
        task = asyncio.create_task(hold(turns, [], 1))
        await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    async with asyncio.timeout(1), turns.turn(unless=NEVER) as room:
        assert room


async def test_a_fault_within_a_turn_is_the_callers() -> None:
    turns = Turns(1, 3600.0)
    caught = False
    try:
        async with turns.turn(unless=NEVER):
            raise TimeoutError("of something else")
    except TimeoutError:
        caught = True
    assert caught
