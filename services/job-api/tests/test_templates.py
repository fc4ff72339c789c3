"""Templates over HTTP and NATS: look, publish, render, delete."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.commands import DeleteTemplate, PublishTemplate, RenderTemplate
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.job_api.adapters.templates import BUCKET, shipped
from trainyard.job_api.core import versions
from trainyard.job_api.core.rendering import render
from trainyard.job_api.settings import Settings

SHIPPED = shipped(Settings.from_env({}).templates)


def document(name: str = "mine", version: str = "1.0.0", **changes: Any) -> dict[str, Any]:
    return {
        "name": name, "version": version, "framework": "generic", "task": "batch",
        "title": {"en": "Mine", "zh": "我的"}, "description": "What I run.",
        "parameters": {"n": {"type": "int", "default": 1, "minimum": 1, "maximum": 9, "help": "How many."}},
        "job": {"name": "mine", "framework": "generic", "command": "echo ${n}"}, **changes,
    }  # fmt: skip


async def publish(world: Any, **fields: Any) -> Any:
    return await world.http.post("/v1/templates", json=document(**fields))


@pytest.mark.parametrize("name", [item.template.name for item in SHIPPED])
def test_every_shipped_template_gives_a_job_as_it_stands(name: str) -> None:
    template = versions.choose(SHIPPED, name).template
    made = render(template, {})
    assert made.spec.labels["template"] == name
    assert made.spec.timeouts.active is not None
    assert Path(made.spec.workdir or "/").is_dir()
    for parameter in template.parameters.values():
        assert parameter.help.zh
        assert parameter.title is None or parameter.title.zh
    assert template.title.zh
    assert template.description.zh


async def test_published_rendered_submitted(world: Any) -> None:
    created = await publish(world)
    assert (created.status_code, created.json()["owner"]) == (201, "ann")
    assert created.headers["location"] == "/v1/templates/mine/1.0.0"
    shown = (await world.http.get("/v1/templates/mine")).json()
    assert shown["parameters"]["n"]["maximum"] == 9
    assert shown["title"] == {"en": "Mine", "zh": "我的"}
    made = (await world.http.post("/v1/templates/mine/render", json={"parameters": {"n": "3"}})).json()
    assert made["job"]["command"] == ["echo", "3"]
    assert made["values"] == {"n": 3}
    submitted = await world.http.post("/v1/jobs", json=made["job"])
    assert submitted.status_code == 201
    assert submitted.json()["labels"] == {"template": "mine", "template-version": "1.0.0"}


async def test_a_fault_points_at_the_parameter(world: Any) -> None:
    await publish(world)
    response = await world.http.post("/v1/templates/mine/render", json={"parameters": {"n": 12, "m": 1}})
    assert response.status_code == 422
    errors = {item["pointer"]: item for item in response.json()["errors"]}
    assert errors["/parameters/n"]["detail"] == "12 is too large"
    assert errors["/parameters/n"]["hint"] == "a whole number from 1 to 9"
    assert "/parameters/m" in errors
    response = await world.http.post("/v1/templates/mine/render", json={"parameters": {"n": [1]}})
    assert [item["pointer"] for item in response.json()["errors"]] == ["/parameters/n"]
    assert (await world.http.post("/v1/templates/mine/render", json={"parameters": {"n": None}})).status_code == 200


async def test_a_version_never_changes(world: Any) -> None:
    await publish(world)
    assert (await publish(world, folder="/elsewhere")).status_code == 200
    other = await publish(world, description="Something else.")
    assert (other.status_code, "higher version" in other.json()["detail"]) == (409, True)
    assert (await publish(world, version="1.10.0")).status_code == 201
    assert (await publish(world, version="1.9.0")).status_code == 201
    shown = (await world.http.get("/v1/templates/mine")).json()
    assert (shown["version"], shown["versions"]) == ("1.10.0", ["1.10.0", "1.9.0", "1.0.0"])
    old = await world.http.get("/v1/templates/mine/1.0.0")
    assert old.json()["version"] == "1.0.0"
    made = await world.http.post("/v1/templates/mine/render", json={"version": "1.9.0"})
    assert made.json()["version"] == "1.9.0"


async def test_what_is_not_there_says_what_is(world: Any) -> None:
    await publish(world)
    for path, says in (("mime", "did you mean 'mine'?"), ("mine/2.0.0", "there are 1.0.0")):
        response = await world.http.get(f"/v1/templates/{path}")
        assert (response.status_code, says in response.json()["detail"]) == (404, True)
    assert (await world.http.delete("/v1/templates/mime")).status_code == 404


async def test_what_gives_no_job_is_not_published(world: Any) -> None:
    bad = await publish(world, job={"name": "mine", "framework": "generic", "command": "${n}", "colour": 1})
    assert (bad.status_code, "job.colour" in bad.json()["detail"]) == (422, True)
    unused = await publish(world, job={"name": "mine", "framework": "generic", "command": "x"})
    assert "used nowhere" in unused.json()["detail"]
    assert (await world.http.get("/v1/templates/mine")).status_code == 404


async def test_deleted_one_by_one_or_all(world: Any) -> None:
    for version in ("1.0.0", "1.1.0", "2.0.0"):
        await publish(world, version=version)
    gone = await world.http.delete("/v1/templates/mine/1.1.0")
    assert [item["version"] for item in gone.json()["templates"]] == ["1.1.0"]
    assert (await world.http.delete("/v1/templates/mine/1.1.0")).status_code == 404
    gone = await world.http.delete("/v1/templates/mine")
    assert {item["version"] for item in gone.json()["templates"]} == {"1.0.0", "2.0.0"}
    assert (await world.http.get("/v1/templates/mine")).status_code == 404
    assert (await publish(world)).status_code == 201


async def test_what_ships_cannot_be_deleted_but_replaced_under_its_name(world: Any) -> None:
    refused = await world.http.delete("/v1/templates/command")
    assert (refused.status_code, "ships with Trainyard" in refused.json()["detail"]) == (409, True)
    taken = await publish(world, name="command", version="1.0.0")
    assert (taken.status_code, "ships with Trainyard" in taken.json()["detail"]) == (409, True)
    assert (await publish(world, name="command", version="0.1.0")).status_code == 201
    shown = (await world.http.get("/v1/templates/command")).json()
    assert (shown["version"], shown["built_in"]) == ("0.1.0", False), "however new the one that ships is"
    assert (await world.http.get("/v1/templates/command/1.0.0")).json()["built_in"] is True
    page = (await world.http.get("/v1/templates")).json()["templates"]
    assert {item["name"] for item in page} == {item.template.name for item in SHIPPED}
    await world.http.delete("/v1/templates/command")
    assert (await world.http.get("/v1/templates/command")).json()["version"] == "1.0.0"


async def test_commands_get_the_same_answers(world: Any) -> None:
    published = await world.bus.request(PublishTemplate(template=document()))
    assert (published.status, published.body["owner"]) == (201, "/trainyard/test")
    made = await world.bus.request(RenderTemplate(name="mine", parameters={"n": 2}))
    assert (made.status, made.body["job"]["command"]) == (200, ["echo", "2"])
    bad = await world.bus.request(RenderTemplate(name="mine", parameters={"n": 0}))
    assert (bad.status, "parameters.n: 0 is too small" in bad.body["detail"]) == (422, True)
    assert (await world.bus.request(DeleteTemplate(name="mine", version="1.0.0"))).status == 200
    assert (await world.bus.request(DeleteTemplate(name="mine"))).status == 404


async def test_what_this_release_cannot_read_is_passed_over(world: Any) -> None:
    await publish(world)
    await (await world.bus.keyvalue(BUCKET)).put("odd.1.0.0", b"not a template")
    names = {item["name"] for item in (await world.http.get("/v1/templates")).json()["templates"]}
    assert "mine" in names
    assert "odd" not in names


def test_an_operator_writes_limits_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "limits.yaml"
    file.write_text("site: {memory: 4Gi}\ntemplates: {command: {processes: 2}}\n")
    limits = Settings.from_env({"TRAINYARD_TEMPLATE_LIMITS": str(file)}).limits
    assert (limits.site.memory, limits.templates["command"].processes) == (4 * 2**30, 2)
    file.write_text("site: {cores: 4}\n")
    with pytest.raises(InvalidInput, match=r"TRAINYARD_TEMPLATE_LIMITS.*site\.cores"):
        Settings.from_env({"TRAINYARD_TEMPLATE_LIMITS": str(file)})
    with pytest.raises(InvalidInput, match="cannot be read"):
        Settings.from_env({"TRAINYARD_TEMPLATE_LIMITS": str(tmp_path / "none")})


def test_a_faulty_file_of_ours_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: b\n")
    with pytest.raises(TrainyardError, match=r"a\.yaml cannot be used: version: this field is required"):
        shipped(tmp_path)
