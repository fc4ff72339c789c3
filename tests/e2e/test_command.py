"""The command as a person uses it: what it prints, what scripts get, and with which exit code."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trainyard.client.sdk import Yard
from trainyard.common.testing.yard import YardProcess

pytestmark = pytest.mark.e2e


def write(folder: Path, command: str) -> str:
    (folder / "job.yaml").write_text(f"name: by-hand\nframework: generic\ncommand: {command}\n")
    return str(folder)


def test_a_job_by_hand(yard: YardProcess, tmp_path: Path) -> None:
    done = yard.yard("submit", write(tmp_path, "sh -c 'echo one; echo two >&2'"), "--watch")
    assert done.returncode == 0, done.stderr
    job = done.stdout.split()[-1]
    assert yard.yard("wait", job).returncode == 0
    assert sorted(yard.yard("logs", job).stdout.splitlines()) == ["[0] one", "[0] two"]
    kinds = [json.loads(line)["kind"] for line in yard.yard("events", job, "--json").stdout.splitlines()]
    assert kinds == ["submitted", "resolved", "starting", "running", "succeeded"]
    listed = json.loads(yard.yard("list", "--json", "--state", "succeeded").stdout)
    assert job in [item["job_id"] for item in listed["jobs"]]
    assert "by-hand" in yard.yard("list").stdout
    retried = json.loads(yard.yard("retry", job, "--json").stdout)
    assert retried["retry_of"] == job
    assert yard.yard("cancel", job).returncode == 6


def test_failure_and_time_out_have_exit_codes(yard: YardProcess, tmp_path: Path) -> None:
    failed = yard.yard("submit", write(tmp_path, "sh -c 'exit 9'"), "--watch")
    assert failed.returncode == 1
    slow = json.loads(yard.yard("submit", write(tmp_path, "sleep 60"), "--json").stdout)["job_id"]
    assert yard.yard("wait", slow, "--timeout", "0.2").returncode == 124
    assert yard.yard("cancel", slow, "-m", "enough").returncode == 0
    assert yard.yard("wait", slow).returncode == 1
    assert "enough" in yard.yard("events", slow).stdout


def test_the_same_key_is_the_same_job(yard: YardProcess, tmp_path: Path) -> None:
    folder = write(tmp_path, "'true'")
    first, second = (
        json.loads(yard.yard("submit", folder, "--key", "k1", "--json").stdout)["job_id"] for _ in range(2)
    )
    assert first == second


def test_init_writes_what_submit_takes(yard: YardProcess, tmp_path: Path) -> None:
    target = tmp_path / "new.yaml"
    assert yard.yard("init", str(target), "--framework", "generic").returncode == 0
    assert yard.yard("init", str(target)).returncode == 4
    assert yard.yard("submit", str(target), "--watch").returncode == 0


def test_doctor_version_and_models(yard: YardProcess) -> None:
    done = yard.yard("doctor", "--json")
    assert done.returncode == 0, done.stdout
    levels = {item["subject"]: item["level"] for item in json.loads(done.stdout)["findings"]}
    assert levels["job-api"] == levels["nats-server"] == levels["python"] == "ok"
    assert yard.yard("version").stdout.startswith("yard 0.")
    assert json.loads(yard.yard("models", "--json").stdout)["models"] is not None
    assert yard.yard("up", "--detach").stdout.startswith("the yard is up already")


def test_a_gateway_that_is_not_there(yard: YardProcess) -> None:
    done = yard.yard("--url", "http://127.0.0.1:9", "list")
    assert done.returncode == 5
    assert "yard up" in done.stderr


def test_tokens_and_dead_letters(yard: YardProcess, gateway: Yard) -> None:
    token = yard.yard("token", "create", "robot").stdout.strip()
    assert token.startswith("yard_")
    assert yard.yard("token", "create", "robot").returncode == 4
    with Yard(yard.url, token) as robot:
        job = robot.submit({"name": "by-robot", "framework": "generic", "command": "true"})
    assert job.owner == "robot"
    assert token not in (yard.state / "tokens.json").read_text()
    assert "robot" in yard.yard("token", "list").stdout
    assert yard.yard("token", "revoke", "robot").returncode == 0
    assert gateway.jobs(limit=1).jobs  # without a token loopback goes on as before
    assert json.loads(yard.yard("deadletters", "list", "--json").stdout) == {"dead_letters": []}
    assert yard.yard("deadletters", "show", "99").returncode == 3


def test_two_that_start_one_yard_at_once_both_have_it(tmp_path: Path) -> None:
    yard = YardProcess(tmp_path)
    try:
        with ThreadPoolExecutor(2) as pool:
            both = list(pool.map(lambda _: yard.yard("up", "--detach", timeout=120), range(2)))
        assert [done.returncode for done in both] == [0, 0], [done.stderr for done in both]
        assert yard.yard("list").returncode == 0
    finally:
        yard.stop()
