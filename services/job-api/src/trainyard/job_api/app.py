"""The only wiring of the gateway."""

from __future__ import annotations

import asyncio

import structlog
from starlette.types import ASGIApp

from trainyard.common.bus.port import Bus, Running
from trainyard.common.clock import SystemClock
from trainyard.common.contract import inventory
from trainyard.common.logs.reader import LogStore
from trainyard.common.projection.store import Store, open_reader
from trainyard.common.sources.store import Sources
from trainyard.job_api.adapters.changes import ChangeBoard
from trainyard.job_api.adapters.http import application
from trainyard.job_api.adapters.nodes import BucketNodes
from trainyard.job_api.adapters.projection import SCHEMA, ReadModel
from trainyard.job_api.adapters.queries import Queries
from trainyard.job_api.adapters.templates import BUCKET, BucketTemplates, shipped
from trainyard.job_api.adapters.workdir import Folders
from trainyard.job_api.gateway import Gateway
from trainyard.job_api.handlers import bound
from trainyard.job_api.settings import Settings

log = structlog.get_logger()


class JobApi:
    """Follows the log into the read model, and answers over HTTP and NATS."""

    def __init__(self, settings: Settings, bus: Bus) -> None:
        self._bus = bus
        self._settings = settings
        self._board = ChangeBoard()
        self._caught_up = False
        self._commands: Running | None = None

    async def start(self) -> ASGIApp:
        self._store = Store(self._settings.state / "job-api.sqlite", SCHEMA, await self._bus.identity())
        self._gateway = Gateway(
            log=self._bus,
            commands=self._bus,
            reads=Queries(open_reader(self._store.path)),
            changes=self._board,
            logs=LogStore(self._settings.logs),
            workdirs=Folders(
                sources=await Sources.open(self._bus),
                templates=self._settings.templates,
                shared=self._settings.check_workdir,
                sent=self._settings.sends_sources,
            ),
            clock=SystemClock(),
            templates=BucketTemplates(await self._bus.keyvalue(BUCKET), shipped(self._settings.templates)),
            nodes=BucketNodes(await self._bus.keyvalue(inventory.BUCKET)),
            limits=self._settings.limits,
        )
        return application.create(self._gateway, self._settings)

    async def run(self) -> None:
        model = ReadModel(self._store)
        async for batch in self._bus.follow(after=self._store.cursor):
            model.apply(batch)
            self._board.tell(batch)
            if batch.caught_up and not self._caught_up:
                self._caught_up = True
                log.info("read model is up to date", seq=batch.last)
                self._commands = await self._bus.serve(bound(self._gateway))
            await asyncio.sleep(0)  # requests have their turn between two batches of a long catch-up

    async def ready(self) -> str | None:
        return None if self._caught_up else "the read model is still being built from the log"

    async def close(self) -> None:
        if self._commands is not None:
            await self._commands.stop()
        self._store.close()


def build(settings: Settings, bus: Bus) -> JobApi:
    return JobApi(settings, bus)
