"""`/v1/matrix` passes on what the matrix answers, and says so when it is not there."""

from __future__ import annotations

from typing import Any

from trainyard.common.bus.port import Request
from trainyard.common.contract.commands import Answer, ResolveJob, ShowMatrix
from trainyard.common.errors import InvalidInput


async def on_show(request: Request) -> Answer:
    command = request.command
    assert isinstance(command, ShowMatrix)
    if command.framework == "pytroch":
        raise InvalidInput.one("the matrix knows nothing of 'pytroch'", "framework", "did you mean 'pytorch'?")
    return Answer(status=200, body={"tables": {"releases": [{"framework": command.framework or "all"}]}})


async def on_resolve(request: Request) -> Answer:
    assert isinstance(request.command, ResolveJob)
    return Answer(status=200, body={"fits": False, "message": f"not {request.command.spec['name']}"})


async def test_the_facts_of_one_framework(world: Any) -> None:
    await world.bus.serve({"matrix.show": on_show})
    assert (await world.http.get("/v1/matrix", params={"framework": "jax"})).json()["tables"] == {
        "releases": [{"framework": "jax"}]
    }


async def test_a_job_file_is_explained_as_json_and_yaml(world: Any) -> None:
    await world.bus.serve({"matrix.resolve": on_resolve})
    by_json = await world.http.post("/v1/matrix/resolve", json={"name": "a"})
    by_yaml = await world.http.post(
        "/v1/matrix/resolve", content="name: a", headers={"content-type": "application/yaml"}
    )
    assert by_json.json() == by_yaml.json() == {"fits": False, "message": "not a"}
    assert (await world.http.get("/v1/jobs")).json()["jobs"] == []


async def test_a_refusal_of_the_matrix_is_a_problem(world: Any) -> None:
    await world.bus.serve({"matrix.show": on_show})
    response = await world.http.get("/v1/matrix", params={"framework": "pytroch"})
    assert response.status_code == 422
    assert response.headers["content-type"].startswith("application/problem+json")
    assert "did you mean 'pytorch'?" in response.text


async def test_without_a_matrix_it_is_unavailable(world: Any) -> None:
    assert (await world.http.get("/v1/matrix")).status_code == 503
