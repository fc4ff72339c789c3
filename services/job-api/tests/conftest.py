"""The gateway on the bus in memory, with the real read model and the real HTTP application."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest_asyncio

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.events import JobEvent
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.testing.eventually import eventually
from trainyard.job_api.app import JobApi
from trainyard.job_api.settings import Settings

SPEC: dict[str, Any] = {"name": "a-job", "framework": "generic", "command": ["true"]}


@dataclass
class World:
    bus: MemoryBus
    api: JobApi
    http: httpx.AsyncClient
    state: Path

    async def submit(self, **changes: Any) -> dict[str, Any]:
        response = await self.http.post("/v1/jobs", json={**SPEC, **changes})
        assert response.status_code == 201, response.text
        job: dict[str, Any] = response.json()
        await self.shows(job["job_id"], "submitted")
        return job

    async def append(self, event: JobEvent) -> None:
        latest = await self.bus.latest("job", event.job_id)
        await self.bus.append(event, after=latest[-1].seq)
        await eventually(lambda: self.is_shown(event.job_id, latest[-1].seq))

    async def is_shown(self, job_id: str, after: int) -> bool:
        return bool((await self.http.get(f"/v1/jobs/{job_id}")).json()["last_seq"] > after)

    async def shows(self, job_id: str, state: str) -> None:
        async def look() -> bool:
            page = (await self.http.get("/v1/jobs", params={"state": state, "limit": 500})).json()
            return any(job["job_id"] == job_id for job in page["jobs"])

        await eventually(look)


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    bus = MemoryBus()
    settings = Settings(tmp_path, "127.0.0.1", 8470, "ann", True, Tokens(tmp_path / "tokens.json"), tmp_path / "logs")
    api = JobApi(settings, bus)
    transport = httpx.ASGITransport(await api.start())
    running = asyncio.create_task(api.run())
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8470") as http:
        await eventually(lambda: _ready(api))
        yield World(bus, api, http, tmp_path)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await api.close()
    await bus.close()


async def _ready(api: JobApi) -> bool:
    return await api.ready() is None
