"""Waiting for what happens in another task or process: often looked at, never slept for longer than it takes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

# A control plane on a busy machine takes longer for the same steps: its tests stretch every wait by this.
PATIENCE = float(os.environ.get("TRAINYARD_TEST_PATIENCE", "1"))


async def eventually(look: Callable[[], Awaitable[T]] | Callable[[], T], *, within: float = 15.0) -> T:
    """The first truthy value that `look` gives. Raises AssertionError with the last one after `within` seconds, which
    TRAINYARD_TEST_PATIENCE multiplies."""
    within *= PATIENCE
    deadline = time.monotonic() + within
    while True:
        value = look()
        found: T = await value if isinstance(value, Awaitable) else value
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:g} s; last seen: {found!r}")
        await asyncio.sleep(0.02)
