"""Calls built purely, answers read strictly, job files made complete, exit codes by error."""

from __future__ import annotations

import fcntl
import threading
from pathlib import Path

import httpx
import pytest

from trainyard.client import calls, files
from trainyard.client.answers import read
from trainyard.client.cli import exits, template, templates
from trainyard.client.settings import ClientSettings
from trainyard.client.yard.layout import Layout
from trainyard.client.yard.liveness import SILENCES, until_frozen
from trainyard.client.yard.record import Record, hold, is_held
from trainyard.common.contract import jobfile
from trainyard.common.contract.explain import validate
from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.views import ModelPage
from trainyard.common.errors import Conflict, InvalidInput, NotFound, TrainyardError, Unauthorized, Unavailable


def test_calls_are_values() -> None:
    assert calls.submit({"a": 1}, key="k").headers == {"Idempotency-Key": "k"}
    assert calls.jobs(state=["running"], owner=None, label=[]).params == {"state": ["running"]}
    assert calls.cancel("j", "why").path == "/v1/jobs/j/cancel"
    assert calls.template("a/../b", "1.0.0").path == "/v1/templates/a%2F..%2Fb/1.0.0"
    assert calls.render_template("a", {"n": 1}).body == {"parameters": {"n": 1}}
    assert calls.render_template("a", {}, "1.0.0").body == {"parameters": {}, "version": "1.0.0"}


@pytest.mark.parametrize(
    ("status", "body", "error", "code"),
    [
        (404, {"detail": "no such job"}, NotFound, 3),
        (409, {"detail": "has ended"}, Conflict, 6),
        (401, {"detail": "a token is needed"}, Unauthorized, 7),
        (422, {"detail": "x", "errors": [{"pointer": "/a/b", "detail": "wrong", "hint": "h"}]}, InvalidInput, 4),
        (503, {"detail": "not yet"}, Unavailable, 5),
        (500, {"detail": "broken"}, TrainyardError, 1),
    ],
)
def test_problems_become_errors_and_exit_codes(
    status: int, body: dict[str, object], error: type[Exception], code: int
) -> None:
    response = httpx.Response(status, json=body, request=httpx.Request("GET", "http://x/"))
    with pytest.raises(error) as caught:
        read(response, ModelPage)
    assert exits.code_of(caught.value) == code


def test_an_answer_of_something_else_is_told_so() -> None:
    for content in (b"<html>", b'{"surprise": 1}'):
        response = httpx.Response(200, content=content, request=httpx.Request("GET", "http://x/"))
        with pytest.raises(TrainyardError, match="is it a Trainyard gateway"):
            read(response, ModelPage)


def test_job_files_get_absolute_folders(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("name: a\n")
    assert files.read(tmp_path)["workdir"] == str(tmp_path)
    (tmp_path / "job.yaml").write_text("workdir: ../x\n")
    assert files.read(tmp_path / "job.yaml")["workdir"] == str(tmp_path.parent / "x")
    with pytest.raises(InvalidInput, match="yard init"):
        files.read(tmp_path / "none.yaml")


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS))
def test_the_written_job_file_is_valid_as_it_stands(framework: str) -> None:
    text = template.render(framework)
    validate(JobSpec, jobfile.parse_yaml(text))
    uncommented = "\n".join(
        line.replace("# ", "", 1) if line.startswith(("# ", "  # ")) else line for line in text.splitlines()[1:]
    )
    job = validate(JobSpec, jobfile.parse_yaml(uncommented))
    assert job.convert is not None


def test_what_is_filled_in_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "v.yaml").write_text("lr: 0.1\nworkdir: code\nn: 2\n")
    found = templates.filled_in(["n=a=b", " lr =0.2"], tmp_path / "sub" / "v.yaml")
    assert found == {"lr": "0.2", "workdir": str(tmp_path / "sub" / "code"), "n": "a=b"}
    assert templates.filled_in(["workdir=x"], None) == {"workdir": str(tmp_path / "x")}
    assert templates.filled_in(["workdir=auto"], None) == {"workdir": "auto"}
    for wrong in ("lr", "=1"):
        with pytest.raises(InvalidInput, match="NAME=VALUE"):
            templates.filled_in([wrong], None)


def test_settings_come_from_arguments_then_the_environment() -> None:
    env = {"TRAINYARD_URL": "http://a:1/", "TRAINYARD_TOKEN": "t"}
    assert ClientSettings.read("http://b", None, env).url == "http://b"
    assert ClientSettings.read(None, None, env).url == "http://a:1"
    assert ClientSettings.read(None, None, env).headers == {"Authorization": "Bearer t"}
    assert ClientSettings.read(None, None, {}).url == "http://127.0.0.1:8470"


def test_the_layout_of_a_yard(tmp_path: Path) -> None:
    layout = Layout.read(
        {"TRAINYARD_STATE": str(tmp_path), "TRAINYARD_BASE_PORT": "9000", "NATS_USER": 'a"b', "NATS_PASSWORD": "p"}
    )
    assert [child.port for child in layout.services()] == [9000, 9001, 9002, 9003, 9004]
    assert layout.nats().port == 9005
    text = layout.nats_configuration()
    assert 'listen: "127.0.0.1:9005"' in text
    assert 'user: "a\\"b"' in text
    assert layout.environment({"X": "1"})["NATS_URL"] == "nats://127.0.0.1:9005"
    with pytest.raises(InvalidInput, match="NATS_USER"):
        Layout.read({"TRAINYARD_NATS_LISTEN": "192.0.2.1"})
    with pytest.raises(InvalidInput, match="whole number"):
        Layout.read({"TRAINYARD_BASE_PORT": "many"})


def test_the_record_trusts_no_number(tmp_path: Path) -> None:
    import os  # noqa: PLC0415

    record = Record(tmp_path / "yard.json")
    assert record.living() == {}
    record.write({"me": os.getpid(), "gone": 2**22 - 1})
    assert set(record.living()) == {"me"}
    text = (tmp_path / "yard.json").read_text()
    (tmp_path / "yard.json").write_text(text.replace('"started": ', '"started": 1'))
    assert record.living() == {}


def test_one_yard_a_state_folder(tmp_path: Path) -> None:
    lock = tmp_path / "yard.lock"
    assert not is_held(lock)
    with hold(lock):
        assert is_held(lock)
        with pytest.raises(TrainyardError, match="runs already"), hold(lock):
            pass
    assert not is_held(lock)


def test_who_only_asks_is_not_taken_for_a_yard(tmp_path: Path) -> None:
    lock = tmp_path / "yard.lock"
    with hold(lock):
        pass
    asking = lock.open("a")
    fcntl.flock(asking, fcntl.LOCK_SH)  # as `is_held` does for a moment
    assert not is_held(lock)
    threading.Timer(0.1, asking.close).start()
    with hold(lock):
        assert is_held(lock)


async def test_who_answers_now_and_then_is_not_frozen() -> None:
    answers = [False] * (SILENCES - 1) + [True] + [False] * SILENCES
    asked: list[bool] = []

    async def ask() -> bool:
        asked.append(answers[len(asked)])
        return asked[-1]

    await until_frozen(ask, interval=0)
    assert asked == answers
