"""Who may speak to the gateway: not a page of another site, not a stranger from another machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.errors import TrainyardError
from trainyard.common.runtime.credentials import Tokens
from trainyard.job_api.app import JobApi
from trainyard.job_api.settings import Settings


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example:8470"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:8470"}, 201),
        ({"Host": "localhost:8470"}, 201),
        ({"Host": "[::1]:8470"}, 201),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic YTpi"}, 401),
    ],
)
async def test_browsers_and_strangers(world: Any, headers: dict[str, str], status: int) -> None:
    body = b'{"name": "a", "framework": "generic", "command": "true"}'
    response = await world.http.post("/v1/jobs", content=body, headers={"Content-Type": "application/json", **headers})
    assert response.status_code == status, response.text
    if status != 201:
        assert response.headers["content-type"] == "application/problem+json"


async def test_a_refused_body_is_told_what_is_taken(world: Any) -> None:
    """curl says application/x-www-form-urlencoded where nobody says what a zip is."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    refused = await world.http.put("/v1/sources", content=b"PK", headers=headers)
    assert refused.status_code == 415
    assert "application/zip" in refused.json()["detail"]


async def test_a_token_names_the_owner(world: Any) -> None:
    token = Tokens(world.state / "tokens.json").create("bob")
    headers = {"Authorization": f"Bearer {token}"}
    job = (
        await world.http.post(
            "/v1/jobs", json={"name": "a", "framework": "generic", "command": "true"}, headers=headers
        )
    ).json()
    assert job["owner"] == "bob"
    Tokens(world.state / "tokens.json").revoke("bob")
    assert (await world.http.get("/v1/jobs", headers=headers)).status_code == 401


async def test_another_address_needs_a_token_from_everybody(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    with pytest.raises(TrainyardError, match="yard token create"):
        tokens.require_for("192.0.2.1")
    token = tokens.create("ann")
    tokens.require_for("192.0.2.1")
    api = JobApi(Settings(tmp_path, "192.0.2.1", 8470, "local", True, tokens, tmp_path / "logs"), MemoryBus())
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(await api.start()), base_url="http://192.0.2.1:8470"
    ) as http:
        assert (await http.get("/v1/jobs")).status_code == 401
        assert (await http.get("/v1/jobs", headers={"Authorization": f"Bearer {token}"})).status_code == 200
    await api.close()


async def test_unknown_paths_and_methods_are_problems(world: Any) -> None:
    for method, path, status in (("GET", "/v1/nothing", 404), ("PUT", "/v1/jobs", 405), ("GET", "/v1/jobs/xyz", 422)):
        response = await world.http.request(method, path)
        assert response.status_code == status
        assert response.json()["type"].startswith("urn:trainyard:problem:")


async def test_the_openapi_document_is_whole(world: Any) -> None:
    document = (await world.http.get("/openapi.json")).json()
    schemas = document["components"]["schemas"]
    text = str(document)
    assert {"JobSpec", "ConversionSpec", "JobView", "ProblemView"} <= set(schemas)
    for reference in {part.split("'")[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in schemas
