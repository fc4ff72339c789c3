"""Waiting for an event, but not for ever.

Not `asyncio.wait_for`, which on Python 3.11 loses a cancel that arrives together with the result (see cancelling).
"""

from __future__ import annotations

import asyncio
from contextlib import suppress


async def within(event: asyncio.Event, seconds: float) -> bool:
    """Whether the event was set before the time was up."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await event.wait()
    return False
