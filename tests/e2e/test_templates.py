"""Every template that ships runs, from the command that a person gives to the end of the job.

Those whose images fit CI's time run always, with small values; the others with `just frameworks`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from trainyard.client.sdk import AsyncYard, Yard
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess
from trainyard.job_api.adapters.templates import shipped
from trainyard.job_api.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

SMALL: dict[str, dict[str, str]] = {
    "command": {"command": "sh -c 'echo \"$TRAINYARD_RANK of $TRAINYARD_WORLD_SIZE\"'", "processes": "2"},
    "parameter-sweep": {"values": "0.1 'two words'"},
    "benchmark": {"repeats": "3"},
    "numpy-gang": {"steps": "50"},
    "sklearn-forest": {"trees": "20"},
    "xgboost-classifier": {"rounds": "5"},
    "lightgbm-classifier": {"rounds": "5"},
    "jax-data-parallel": {"epochs": "2"},
    "pytorch-ddp": {"epochs": "2"},
    "lightning-ddp": {"epochs": "2"},
    "tensorflow-multiworker": {"epochs": "2"},
}
BY_HAND: dict[str, dict[str, str]] = {
    "tensorflow-parameter-server": {"epochs": "2"},
    "keras-multibackend": {"epochs": "2"},
    "paddle-collective": {"epochs": "2"},
    "mindspore-data-parallel": {"epochs": "2"},
    "mxnet-parameter-server": {"epochs": "2"},
    "deepspeed-zero": {"epochs": "2", "stage": "1"},
    "colossalai-data-parallel": {"epochs": "2"},
    "catboost-classifier": {"rounds": "5"},
    "ray-tasks": {"trees": "20", "tasks": "2"},
    "mpi-program": {"steps": "50"},
}


def run(name: str, values: dict[str, str], yard: YardProcess, gateway: Yard) -> list[str]:
    settings = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    done = yard.yard("templates", "run", name, *settings, "--json")
    assert done.returncode == 0, done.stderr
    job = gateway.wait(json.loads(done.stdout)["job_id"], timeout=500)
    lines = [line["text"] for line in gateway.follow_logs(job.job_id)]
    assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *lines[-40:]])
    assert job.labels["template"] == name
    return lines


@pytest.mark.parametrize("name", SMALL)
def test_in_ci(name: str, yard: YardProcess, gateway: Yard) -> None:
    assert run(name, SMALL[name], yard, gateway)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str, yard: YardProcess, gateway: Yard) -> None:
    run(name, BY_HAND[name], yard, gateway)


def test_every_template_that_ships_is_run_here() -> None:
    assert {item.template.name for item in shipped(Settings.from_env({}).templates)} == {*SMALL, *BY_HAND}


def test_a_sweep_gives_every_value_to_one_process(yard: YardProcess, gateway: Yard) -> None:
    lines = run("parameter-sweep", {"values": "1 'a b'", "option": "-x"}, yard, gateway)
    assert {"['-c', '-x', '1']", "['-c', '-x', 'a b']"} <= set(lines)


async def test_from_python(yard: YardProcess) -> None:
    async with AsyncYard(yard.url) as gateway:
        assert "command" in [item.name for item in (await gateway.templates()).templates]
        template = await gateway.template("command")
        document = {
            "name": "from-python", "version": "1.0.0", "framework": "generic", "task": "batch", "title": "T",
            "description": "D", "parameters": {"command": template.parameters["command"]},
            "job": {"name": "p", "framework": "generic", "command": "${command}"},
        }  # fmt: skip
        assert (await gateway.publish_template(document)).name == "from-python"
        made = await gateway.render_template("from-python", {"command": "true"}, "1.0.0")
        assert (await gateway.wait((await gateway.submit(made.job)).job_id, 60)).state is State.SUCCEEDED
        assert [item.version for item in (await gateway.delete_template("from-python")).templates] == ["1.0.0"]


def test_a_template_of_ones_own_by_hand(yard: YardProcess, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "t.py").write_text("import sys; print('|'.join(sys.argv[1:]))\n")
    document = {
        "name": "own", "version": "1.0.0", "framework": "generic", "task": "batch", "title": {"en": "Own", "zh": "自己的"},
        "description": "D", "parameters": {"text": {"type": "string", "help": {"en": "Words.", "zh": "文字。"}}},
        "job": {"name": "own", "framework": "generic", "workdir": "code", "command": "python t.py ${text}"},
    }  # fmt: skip
    file = tmp_path / "own.yaml"
    file.write_text(yaml.safe_dump(document))
    assert "own" in yard.yard("templates", "publish", str(file)).stdout
    yard.kill("nats-server")
    yard.kill("job-api")
    assert yard.yard("wait", "0" * 26).returncode == 3, "the gateway is back"
    shown = yard.yard("templates", "show", "own", "--language", "zh").stdout
    assert "自己的" in shown
    assert "文字。" in shown
    assert "own" in yard.yard("templates", "list").stdout
    missing = yard.yard("templates", "render", "own")
    assert (missing.returncode, "parameters.text: this parameter must be filled in" in missing.stderr) == (4, True)
    (tmp_path / "values.yaml").write_text("text: from file\n")
    values = ("--values", str(tmp_path / "values.yaml"))
    job = yaml.safe_load(yard.yard("templates", "render", "own", *values).stdout)
    assert job["command"] == ["python", "t.py", "from file"]
    assert job["workdir"] == str(tmp_path / "code")
    done = yard.yard("templates", "run", "own", *values, "--set", "text=$(id); x", "--watch")
    assert done.returncode == 0, done.stderr
    assert "$(id); x" in yard.yard("logs", done.stdout.split()[-1]).stdout
    assert yard.yard("templates", "delete", "own").returncode == 0
    assert yard.yard("templates", "show", "own").returncode == 3
