"""A service whose whole work is to consume events, and to answer commands: matrix and converter are nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus, CommandHandler, EventHandler, Running, Subscription


class ConsumingService:
    """Implements run.Service for a list of subscriptions and their handlers, and a table of commands."""

    def __init__(
        self,
        bus: Bus,
        work: Sequence[tuple[Subscription, EventHandler]],
        commands: Mapping[str, CommandHandler] | None = None,
    ) -> None:
        self._bus = bus
        self._work = work
        self._commands = commands
        self._running: list[Running] = []

    async def start(self) -> ASGIApp | None:
        for subscription, handler in self._work:
            self._running.append(await self._bus.consume(subscription, handler))
        if self._commands:
            self._running.append(await self._bus.serve(self._commands))
        return None

    async def run(self) -> None:
        await asyncio.Event().wait()

    async def ready(self) -> str | None:
        return None

    async def close(self) -> None:
        for running in self._running:
            await running.stop()
