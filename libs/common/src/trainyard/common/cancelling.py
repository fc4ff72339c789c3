"""Ending a task for certain.

One cancel is not enough on Python 3.11: `asyncio.wait_for`, which nats-py waits with, loses a cancel that arrives together
with the result (fixed in 3.12), and the task goes on as if nobody had asked. Whoever then waits for it waits for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN = 1.0  # seconds


async def cancelled(*tasks: asyncio.Task[Any]) -> None:
    """Cancel, again and again, until all are over. What they raise is passed over."""
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN)
    await asyncio.gather(*tasks, return_exceptions=True)
