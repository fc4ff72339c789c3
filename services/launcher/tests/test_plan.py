"""The plan of an attempt: what each rank is started with, for every framework and shape."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head
from trainyard.common.testing.builders import spec
from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.frameworks.shape import Rendezvous
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import AttemptPlan, Folders, Interpreter, build, places


def job(attempt: int = 1, **changes: Any) -> Job:
    return Job(Head("j", State.STARTING, 1, attempt), spec(**changes), "ann", 0.0, "host")


def plan(made: Job, **env: str) -> AttemptPlan:
    ranks = range(made.spec.world_size())
    return build(
        made,
        folders=Folders("/work", "/out", "/ckpt", "/worker", {rank: f"/report/{rank}" for rank in ranks}),
        interpreter=Interpreter("/image/bin/python", "/image/bin"),
        rendezvous=Rendezvous("127.0.0.1", 29500, "lo", made.attempt),
        inherited={"PATH": "/usr/bin", "SECRET_TOKEN": "x", "NATS_PASSWORD": "x", "LC_ALL": "C", **env},
        traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01",
    )


@pytest.mark.parametrize("nodes", [1, 2, 4])
@pytest.mark.parametrize("processes", [1, 2, 8])
def test_pytorch_ranks_are_dense_and_agree(nodes: int, processes: int) -> None:
    ranks = plan(job(framework="pytorch", replicas=nodes, processes=processes)).ranks
    world = nodes * processes
    assert [rank.env["RANK"] for rank in ranks] == [str(number) for number in range(world)]
    assert {rank.env["WORLD_SIZE"] for rank in ranks} == {str(world)}
    assert [rank.env["LOCAL_RANK"] for rank in ranks] == [str(number) for number in range(processes)] * nodes
    assert {rank.env["LOCAL_WORLD_SIZE"] for rank in ranks} == {str(processes)}
    assert [rank.env["GROUP_RANK"] for rank in ranks] == [str(n) for n in range(nodes) for _ in range(processes)]
    assert {(rank.env["MASTER_ADDR"], rank.env["MASTER_PORT"]) for rank in ranks} == {("127.0.0.1", "29500")}


@pytest.mark.parametrize("framework", sorted(ADAPTERS))
def test_every_framework_gets_what_every_job_gets(framework: str) -> None:
    made = job(attempt=3, framework=framework, processes=2, env={"EPOCHS": 5, "PYTHONPATH": "/mine"})
    second = plan(made).ranks[1]
    assert second.env["TRAINYARD_RANK"] == "1"
    assert second.env["TRAINYARD_WORLD_SIZE"] == "2"
    assert second.env["TRAINYARD_ATTEMPT"] == "3"
    assert second.env["TRAINYARD_OUTPUT"] == "/out"
    assert second.env["TRAINYARD_REPORT"] == "/report/1"
    assert second.env["TRACEPARENT"].startswith("00-")
    assert second.env["EPOCHS"] == "5"
    assert second.env["PYTHONPATH"] == "/worker:/mine"
    assert second.env["PATH"] == "/image/bin:/usr/bin"
    assert second.cwd == "/work"


def test_the_launchers_own_environment_stays_with_it() -> None:
    env = plan(job()).ranks[0].env
    assert "SECRET_TOKEN" not in env
    assert "NATS_PASSWORD" not in env
    assert env["LC_ALL"] == "C"


def test_python_is_the_images_and_other_commands_are_left() -> None:
    assert plan(job(command="python train.py")).ranks[0].command == ("/image/bin/python", "train.py")
    assert plan(job(command=["/usr/bin/python", "x.py"])).ranks[0].command == ("/usr/bin/python", "x.py")


def test_roles_have_their_own_commands_and_leaders_come_first() -> None:
    made = job(roles={"worker": {"replicas": 2}, "ps": {"command": ["serve"], "env": {"A": "1"}}, "chief": {}})
    assert [place.role for place, _ in places(made.spec)] == ["chief", "ps", "worker", "worker"]
    ranks = plan(made).ranks
    assert [rank.command for rank in ranks] == [("true",), ("serve",), ("true",), ("true",)]
    assert ranks[1].env["A"] == "1"


def test_threads_follow_the_cores_that_were_asked_for() -> None:
    assert plan(job(resources={"cpu": 3.5})).ranks[0].env["OMP_NUM_THREADS"] == "3"
    assert plan(job(resources={"cpu": 0.5})).ranks[0].env["OMP_NUM_THREADS"] == "1"
