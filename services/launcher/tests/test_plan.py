"""The plan of an attempt: what each rank is started with, for every framework and shape."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import AttemptPlan, places, serves

MakeJob = Callable[..., Job]
MakePlan = Callable[..., AttemptPlan]


@pytest.mark.parametrize("framework", sorted(set(ADAPTERS) - {"mxnet"}))  # which needs roles for two processes
def test_every_framework_gets_what_every_job_gets(job: MakeJob, plan: MakePlan, framework: str) -> None:
    made = job(attempt=3, framework=framework, replicas=2, env={"EPOCHS": 5, "PYTHONPATH": "/mine"})
    *_, second = plan(made).ranks
    assert second.env["TRAINYARD_FRAMEWORK"] == framework
    assert second.env["TRAINYARD_ATTEMPT"] == "3"
    assert second.env["TRAINYARD_OUTPUT"] == "/out"
    assert second.env["TRAINYARD_REPORT"] == f"/report/{second.place.rank}"
    assert second.env["TRACEPARENT"].startswith("00-")
    assert second.env["EPOCHS"] == "5"
    assert second.env["PYTHONPATH"] == "/worker:/mine"
    assert second.env["PATH"] == "/image/bin:/usr/bin"
    assert second.cwd == "/work"


def test_the_launchers_own_environment_stays_with_it(job: MakeJob, plan: MakePlan) -> None:
    env = plan(job()).ranks[0].env
    assert "SECRET_TOKEN" not in env
    assert "NATS_PASSWORD" not in env
    assert env["LC_ALL"] == "C"


def test_python_is_the_images_and_other_commands_are_left(job: MakeJob, plan: MakePlan) -> None:
    assert plan(job(command="python train.py")).ranks[0].command == ("/image/bin/python", "train.py")
    assert plan(job(command=["/usr/bin/python", "x.py"])).ranks[0].command == ("/usr/bin/python", "x.py")


def test_roles_have_their_own_commands_and_leaders_come_first(job: MakeJob, plan: MakePlan) -> None:
    made = job(roles={"worker": {"replicas": 2}, "ps": {"command": ["serve"], "env": {"A": "1"}}, "chief": {}})
    assert [place.role for place, _ in places(made.spec)] == ["chief", "ps", "worker", "worker"]
    ranks = plan(made).ranks
    assert [rank.command for rank in ranks] == [("true",), ("serve",), ("true",), ("true",)]
    assert ranks[1].env["A"] == "1"


def test_threads_follow_the_cores_that_were_asked_for(job: MakeJob, plan: MakePlan) -> None:
    assert plan(job(resources={"cpu": 3.5})).ranks[0].env["OMP_NUM_THREADS"] == "3"
    assert plan(job(resources={"cpu": 0.5})).ranks[0].env["OMP_NUM_THREADS"] == "1"


def test_roles_that_serve_are_the_frameworks_or_the_jobs_word(job: MakeJob) -> None:
    ps = {"worker": {"replicas": 2}, "ps": {}, "chief": {}}
    assert serves(job(framework="tensorflow", roles=ps).spec) == {1, 2, 3}, "the chief coordinates"
    assert serves(job(framework="tensorflow", roles={"worker": {"replicas": 2}, "evaluator": {}}).spec) == {0}
    assert serves(job(roles={"train": {}, "store": {"background": True}}).spec) == {0}
    assert serves(job(framework="mxnet", roles={"scheduler": {}, "server": {}, "worker": {}}).spec) == {0, 1}


def test_ranks_reach_one_another_past_a_proxy(job: MakeJob, plan: MakePlan) -> None:
    made = job(framework="jax", processes=2)
    assert "no_proxy" not in plan(made).ranks[0].env
    env = plan(made, HTTPS_PROXY="http://proxy:3128", no_proxy="internal").ranks[0].env
    assert env["no_proxy"] == env["NO_PROXY"] == "internal,127.0.0.1"


def test_keras_is_told_its_backend(job: MakeJob, plan: MakePlan) -> None:
    assert plan(job(framework="keras")).ranks[0].env["KERAS_BACKEND"] == "torch"
    env = plan(job(framework={"name": "keras", "mode": "jax"}, processes=2)).ranks[1].env
    assert (env["KERAS_BACKEND"], env["JAX_PROCESS_ID"]) == ("jax", "1")


def test_elastic_torchrun_bears_fewer_replicas(job: MakeJob, plan: MakePlan) -> None:
    wish = {"name": "pytorch", "mode": "torchrun", "elastic": {"min_replicas": 2, "restarts": 5}}
    ranks = plan(job(framework=wish, replicas=4, attempt=2)).ranks
    assert {rank.env["PET_NNODES"] for rank in ranks} == {"2:4"}
    assert {rank.env["PET_MAX_RESTARTS"] for rank in ranks} == {"5"}
    assert {rank.env["PET_RDZV_ID"] for rank in ranks} == {"j.2"}, "an attempt never meets an older one"
    assert [rank.env["PET_RDZV_CONF"] for rank in ranks] == ["is_host=1", *["is_host=0"] * 3]


def test_paddles_parameter_servers(job: MakeJob, plan: MakePlan) -> None:
    made = job(framework="paddle", roles={"ps": {"replicas": 2}, "worker": {"replicas": 2}})
    server, _, _, worker = (rank.env for rank in plan(made).ranks)
    assert (server["TRAINING_ROLE"], worker["TRAINING_ROLE"]) == ("PSERVER", "TRAINER")
    own = f"{server['POD_IP']}:{server['PADDLE_PORT']}"
    assert own == server["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")[0]
    assert worker["PADDLE_TRAINER_ID"] == "1"


def test_mindspores_dynamic_cluster(job: MakeJob, plan: MakePlan) -> None:
    made = job(framework="mindspore", roles={"scheduler": {}, "worker": {"processes": 2}})
    envs = [rank.env for rank in plan(made).ranks]
    assert [env["MS_ROLE"] for env in envs] == ["MS_SCHED", "MS_WORKER", "MS_WORKER"]
    assert [env.get("MS_NODE_ID") for env in envs] == [None, "0", "1"]
    assert {env["MS_WORKER_NUM"] for env in envs} == {"2"}
