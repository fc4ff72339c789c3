"""Templates that were once published are read, shown and rendered for ever, through kills and upgrades.

`golden_templates/` is append-only, as `golden/` is.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from trainyard.common.bus.nats import NatsBus
from trainyard.common.contract.templates import StoredTemplate
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.testing.nats_server import NatsServer
from trainyard.job_api.adapters.templates import BUCKET
from trainyard.job_api.app import JobApi
from trainyard.job_api.settings import Settings

GOLDEN = sorted(Path(__file__).parent.joinpath("golden_templates").glob("*.json"))


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: file.stem)
def test_a_template_of_the_past_says_what_it_said(file: Path) -> None:
    stored = json.loads(file.read_text())
    read = json.loads(StoredTemplate.parse(file.read_text()).dump())
    for field in ("job", "limits", "name", "version", "folder"):
        assert read["template"][field] == stored["template"][field]
    for name, parameter in stored["template"]["parameters"].items():
        assert parameter.items() <= read["template"]["parameters"][name].items()


@pytest.mark.integration
async def test_published_ones_outlive_the_server_and_the_service(tmp_path: Path) -> None:
    server = NatsServer(tmp_path / "nats")
    server.start()
    try:
        bus = await NatsBus.connect(server.url, source="/trainyard/old")
        bucket = await bus.keyvalue(BUCKET)
        await bucket.put("kept.1.2.0-rc.1", GOLDEN[0].read_bytes())
        async with _client(bus, tmp_path) as old:
            mine = {
                "name": "kept", "version": "1.3.0", "framework": "generic", "task": "batch", "title": "T",
                "description": "D", "job": {"name": "a", "framework": "generic", "command": "true"},
            }  # fmt: skip
            assert (await old.post("/v1/templates", json=mine)).status_code == 201
        await bus.close()
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        bus = await NatsBus.connect(server.url, source="/trainyard/new")
        async with _client(bus, tmp_path) as new:
            assert (await new.get("/v1/templates/kept")).json()["versions"] == ["1.3.0", "1.2.0-rc.1"]
            body = {"version": "1.2.0-rc.1", "parameters": {"tag": "x"}}
            made = (await new.post("/v1/templates/kept/render", json=body)).json()
            assert made["job"]["command"][2:] == ["--lr", "0.1", "--opt", "adam", "--tag", "x"]
            assert (await new.post("/v1/templates", json=mine)).status_code == 200
            assert (await new.post("/v1/templates", json={**mine, "task": "other"})).status_code == 409
        await bus.close()
    finally:
        server.stop()


def _client(bus: NatsBus, state: Path) -> _Served:
    return _Served(bus, state)


class _Served:
    """The real service on a bus, for as long as a `with` lasts."""

    def __init__(self, bus: NatsBus, state: Path) -> None:
        self._api = JobApi(Settings(state, "127.0.0.1", 8470, "ann", True, Tokens(state / "tokens.json"), state / "logs"), bus)

    async def __aenter__(self) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(await self._api.start())
        self._http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8470")
        return self._http

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()
        await self._api.close()
