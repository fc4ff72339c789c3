"""Whatever is wrong is told at submission, by every door, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e
GOOD: dict[str, Any] = {"name": "bad", "framework": "generic", "command": ["true"]}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"comand": "true"}, "did you mean 'command'?"),
        ({"replicas": "two"}, "valid integer"),
        ({"replicas": -1}, "greater than or equal to 1"),
        ({"name": "x" * 200}, "at most 40"),
        ({"name": "../../etc"}, "lower-case letters"),
        ({"env": {"A": "x\0y"}}, "NUL"),
        ({"framework": "tensorfow"}, "'tensorfow' is not known"),
        ({"workdir": "/no/such/folder"}, "there is no /no/such/folder"),
        ({"workdir": "relative"}, "is relative"),
        ({"workdir": "/etc/passwd"}, "is not a folder"),
        ({"workdir": "/tmp", "command": "python no-such-script.py"}, "there is no /tmp/no-such-script.py"),
    ],
)
def test_wrong_documents(yard: YardProcess, gateway: Yard, changes: dict[str, Any], says: str) -> None:
    before = gateway.jobs(limit=1).total
    response = httpx.post(f"{yard.url}/v1/jobs", json={**GOOD, **changes}, trust_env=False)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert says in response.json()["detail"]
    assert gateway.jobs(limit=1).total == before


def test_a_body_of_ten_megabytes(yard: YardProcess) -> None:
    response = httpx.post(f"{yard.url}/v1/jobs", json={**GOOD, "env": {"A": "x" * 10_000_000}}, trust_env=False)
    assert response.status_code == 413
    assert "at most" in response.json()["detail"]
    endless = httpx.post(
        f"{yard.url}/v1/jobs",
        content=(b"x" * 65536 for _ in range(100)),
        headers={"Content-Type": "application/json"},
        trust_env=False,
    )
    assert endless.status_code == 413


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.yaml", None, "there is no file"),
        ("cyclic.yaml", "a: &a [*a]", "contains itself"),
        ("twice.yaml", "name: a\nname: b", "written twice"),
        ("broken.yaml", "name: [", "not valid YAML"),
        ("empty.yaml", "", "empty"),
    ],
)
def test_job_files_in_the_command(yard: YardProcess, tmp_path: Path, name: str, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    done = yard.yard("submit", str(tmp_path / name))
    assert done.returncode == 4
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_whose_link_leads_to_itself(yard: YardProcess, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    response = httpx.post(f"{yard.url}/v1/jobs", json={**GOOD, "workdir": str(tmp_path / "loop")}, trust_env=False)
    assert response.status_code == 422
    assert "cannot be followed" in response.json()["detail"]


def test_what_is_not_there(yard: YardProcess) -> None:
    unknown = "0" * 26
    for arguments, code in (
        (("status", unknown), 3),
        (("status", "not-an-id"), 4),
        (("cancel", unknown), 3),
        (("frobnicate",), 2),
    ):
        done = yard.yard(*arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert "Traceback" not in done.stderr


def test_another_yard_on_the_same_ports_is_told_so(yard: YardProcess, tmp_path: Path) -> None:
    other = YardProcess(tmp_path)
    other.env["TRAINYARD_BASE_PORT"] = str(yard.base_port)
    done = other.yard("up", "--detach", timeout=120)
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    assert "TRAINYARD_BASE_PORT" in done.stderr


def test_an_address_that_others_reach_needs_credentials(tmp_path: Path) -> None:
    for variable, says in (("TRAINYARD_LISTEN", "yard token create"), ("TRAINYARD_NATS_LISTEN", "NATS_USER")):
        done = YardProcess(tmp_path / variable, **{variable: "192.0.2.1"}).yard("up", "--detach", timeout=120)
        assert done.returncode in {1, 4}
        assert says in done.stderr
