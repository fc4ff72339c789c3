"""A job's folder at the gateway: looked for, sent along, or left to the image."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.sources import MOST
from trainyard.common.errors import InvalidInput
from trainyard.common.runtime.credentials import Tokens
from trainyard.common.sources import archive
from trainyard.common.sources.packing import pack
from trainyard.common.sources.store import Sources
from trainyard.common.testing.builders import spec
from trainyard.job_api.adapters.workdir import Folders
from trainyard.job_api.settings import Settings

TRAIN = {"command": ["python", "train.py"]}


async def folders(templates: Path, *, shared: bool, sent: bool) -> Folders:
    return Folders(await Sources.open(MemoryBus()), templates, shared=shared, sent=sent)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print('here')")
    return tmp_path / "code"


async def test_on_one_machine_the_folder_is_looked_at_and_stays_where_it_is(code: Path) -> None:
    here = await folders(code, shared=True, sent=False)
    wanted = spec(workdir=str(code), **TRAIN)
    assert await here.settle(wanted) is wanted
    with pytest.raises(InvalidInput, match=r"there is no .*other\.py"):
        await here.settle(spec(workdir=str(code), command=["python", "other.py"]))
    with pytest.raises(InvalidInput, match="there is no /nowhere"):
        await here.settle(spec(workdir="/nowhere"))


async def test_for_a_cluster_the_folder_is_sent_along(code: Path) -> None:
    cluster = await folders(code, shared=True, sent=True)
    settled = await cluster.settle(spec(workdir=str(code), **TRAIN))
    assert settled.source == archive.digest(pack(code))
    assert await cluster.sources.get(settled.source) == pack(code)
    assert await cluster.settle(settled) == settled, "a retry sends nothing again"
    in_image = spec(workdir=str(code), source="image", **TRAIN)
    assert await cluster.settle(in_image) is in_image
    elsewhere = spec(workdir="/opt/app", **TRAIN)
    assert await cluster.settle(elsewhere) is elsewhere, "it may be in the image"
    with pytest.raises(InvalidInput, match="relative"):
        await cluster.settle(spec(workdir="code"))


async def test_nobody_gets_the_gateways_own_files_by_naming_them(tmp_path: Path, code: Path) -> None:
    templates = tmp_path / "templates"
    (templates / "programs").mkdir(parents=True)
    (templates / "programs" / "train.py").write_text("")
    (templates / "out").symlink_to(code)
    remote = await folders(templates, shared=False, sent=True)
    assert (await remote.settle(spec(workdir=str(templates / "programs"), **TRAIN))).source is not None
    for secret in (code, templates / "programs" / ".." / ".." / "code", templates / "out"):
        assert (await remote.settle(spec(workdir=str(secret), **TRAIN))).source is None


async def test_an_archive_must_have_been_sent_and_have_the_script(code: Path) -> None:
    remote = await folders(code, shared=False, sent=True)
    with pytest.raises(InvalidInput, match=r"there is no archive sha256:0+ here"):
        await remote.settle(spec(source=f"sha256:{'0' * 64}", **TRAIN))
    source = (await remote.take(pack(code))).source
    assert (await remote.settle(spec(source=source, command=["python", "./train.py"]))).source == source
    with pytest.raises(InvalidInput, match=r"there is no test\.py in the folder"):
        await remote.settle(spec(source=source, command=["python", "test.py"]))


async def test_archives_over_http(world: Any, code: Path) -> None:
    assert (await world.http.get("/v1/sources")).json() == {"wanted": False, "shared": True, "most": MOST}
    as_zip = {"Content-Type": "application/zip"}
    answer = await world.http.put("/v1/sources", content=pack(code), headers=as_zip)
    assert (answer.status_code, answer.json()["source"]) == (200, archive.digest(pack(code)))
    job = await world.submit(source=answer.json()["source"], command=["python", "train.py"])
    assert job["spec"]["source"] == answer.json()["source"]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr("../up.py", "")
    for content, status in ((b"nonsense", 422), (out.getvalue(), 422), (b"x" * (MOST + 1), 413)):
        refused = await world.http.put("/v1/sources", content=content, headers=as_zip)
        assert (refused.status_code, refused.headers["content-type"]) == (status, "application/problem+json")
    wrong = await world.http.post(
        "/v1/jobs", json={"name": "a", "framework": "generic", "command": "true", "source": "x"}
    )
    assert wrong.status_code == 422
    assert "sha256: and 64 hexadecimal digits" in wrong.text


@pytest.mark.parametrize(
    ("env", "shared", "sent"),
    [
        ({}, True, False),
        ({"TRAINYARD_BACKEND": "kubernetes"}, True, True),
        ({"TRAINYARD_CHECK_WORKDIR": "off"}, False, True),
    ],
)
def test_what_the_environment_says_of_folders(env: dict[str, str], shared: bool, sent: bool, tmp_path: Path) -> None:
    settings = Settings.from_env({"TRAINYARD_STATE": str(tmp_path), **env})
    assert (settings.check_workdir, settings.sends_sources) == (shared, sent)
    assert isinstance(settings.tokens, Tokens)
