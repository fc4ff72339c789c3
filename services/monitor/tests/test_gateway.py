"""What the page asks of job-api goes there as it is, and comes back as it is."""

from __future__ import annotations

import json

import httpx
import pytest
from fastapi import FastAPI

from trainyard.monitor.adapters.gateway import Gateway, router


def panel(answer: httpx.Response | Exception) -> tuple[httpx.AsyncClient, list[httpx.Request]]:
    asked: list[httpx.Request] = []

    def job_api(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    app = FastAPI()
    app.include_router(router(Gateway("http://job-api", httpx.MockTransport(job_api))))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://panel"), asked


@pytest.mark.parametrize(
    ("method", "path", "there"),
    [
        ("GET", "/api/v1/templates", "/v1/templates"),
        ("GET", "/api/v1/templates/a%20b", "/v1/templates/a%20b"),
        ("POST", "/api/v1/templates/x/render", "/v1/templates/x/render"),
        ("POST", "/api/v1/jobs", "/v1/jobs"),
    ],
)
async def test_handed_on(method: str, path: str, there: str) -> None:
    problem = httpx.Response(422, json={"detail": "no"}, headers={"content-type": "application/problem+json"})
    http, asked = panel(problem)
    headers = {"authorization": "Bearer t", "content-type": "application/json", "cookie": "a=b"}
    answer = await http.request(method, path, content=b'{"a": 1}' if method == "POST" else None, headers=headers)
    assert (answer.status_code, answer.json()) == (422, {"detail": "no"})
    assert answer.headers["content-type"] == "application/problem+json"
    (request,) = asked
    assert (request.method, request.url.raw_path.decode()) == (method, there)
    assert request.headers["authorization"] == "Bearer t"
    assert "cookie" not in request.headers
    assert request.content == (b'{"a": 1}' if method == "POST" else b"")


async def test_nothing_else_is_handed_on() -> None:
    http, asked = panel(httpx.Response(200))
    for method, path in (("DELETE", "/api/v1/templates/x"), ("POST", "/api/v1/templates"), ("GET", "/api/v1/jobs")):
        assert (await http.request(method, path)).status_code == 405
    assert (await http.get("/api/v1/templates/..%2Fjobs/x")).status_code == 404
    assert asked == []


async def test_a_gateway_that_is_down_or_a_body_that_is_too_long() -> None:
    http, _ = panel(httpx.ConnectError("no"))
    answer = await http.get("/api/v1/templates")
    assert (answer.status_code, "job-api does not answer" in answer.json()["detail"]) == (503, True)
    http, asked = panel(httpx.Response(200))
    answer = await http.post("/api/v1/jobs", content=json.dumps({"a": "x" * 600_000}))
    assert answer.status_code == 413
    assert asked == []
