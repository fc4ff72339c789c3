"""Ends an aiohttp server at once: who is connected is cut off, rather than waited for."""

from __future__ import annotations

import asyncio

from aiohttp import web


async def close(runner: web.AppRunner) -> None:
    """An idle TLS connection would otherwise wait for its peer's goodbye, longer than its event loop lives."""
    if runner.server is not None:
        for connection in runner.server.connections:
            if connection.transport is not None:
                connection.transport.abort()
    await runner.cleanup()
    await asyncio.sleep(0)  # the loop hears of the closed sockets before it is closed itself
