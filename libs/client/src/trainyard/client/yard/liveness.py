"""When a service that lives counts as frozen: it was asked several times in a row and never answered."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

INTERVAL = 10.0
"""Seconds between two questions."""
SILENCES = 6
"""Questions without an answer after which it is frozen: a loaded machine may be slow for a minute."""


async def until_frozen(answers: Callable[[], Awaitable[bool]], interval: float = INTERVAL) -> None:
    """Returns when it is frozen; for ever while it answers now and then."""
    silent = 0
    while silent < SILENCES:
        await asyncio.sleep(interval)
        silent = 0 if await answers() else silent + 1
