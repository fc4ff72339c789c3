"""The contract of every framework's adapter, over shapes: 1, 2 and 4 nodes × 1, 2 and 8 processes.

What holds for all of them comes first; then each runtime's own reading of its environment, written from its sources.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from trainyard.common.contract.frameworks import FRAMEWORKS, RESERVED_ENV
from trainyard.launcher.core.frameworks import ADAPTERS
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.plan import AttemptPlan, RankPlan, serves

MakeJob = Callable[..., Job]
MakePlan = Callable[..., AttemptPlan]

SHAPES = list(itertools.product([1, 2, 4], [1, 2, 8]))
MODES = [(name, mode) for name, row in FRAMEWORKS.items() for mode in row.modes]
Identity = tuple[int, int]


def shaped(framework: str, mode: str | None, nodes: int, processes: int) -> dict[str, Any]:
    """A job of so many trainers; frameworks that need helpers get theirs."""
    wish = {"name": framework, **({"mode": mode} if mode else {})}
    if framework == "mxnet":
        worker = {"replicas": nodes, "processes": processes}
        return {"framework": wish, "roles": {"scheduler": {}, "server": {"replicas": nodes}, "worker": worker}}
    return {"framework": wish, "replicas": nodes, "processes": processes}


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
@pytest.mark.parametrize(("framework", "mode"), MODES)
def test_every_adapter(job: MakeJob, plan: MakePlan, framework: str, mode: str, nodes: int, processes: int) -> None:
    made = job(**shaped(framework, mode, nodes, processes))
    ranks = plan(made).ranks
    trainers = [rank for rank in ranks if rank.place.role == "worker"]
    assert sum(rank.place.starts for rank in trainers) == nodes * processes, "every process is started by somebody"
    assert [rank.place.rank for rank in ranks] == list(range(len(ranks)))
    assert len({rank.env["TRAINYARD_ENDPOINT"] for rank in ranks}) == len(ranks), "nobody shares a port"
    assert len({rank.env["TRAINYARD_MASTER_PORT"] for rank in ranks}) == 1, "all meet in one place"
    row = FRAMEWORKS[framework]
    given = [set(rank.env) for rank in ranks]
    bare = set(plan(job(framework="generic")).ranks[0].env)
    may_be_set = {name for name in set().union(*given) - bare if not name.startswith("TRAINYARD_")}
    refused = row.reserved | RESERVED_ENV
    # A user may overwrite tuning (an interface, a backend), never what says who a process is.
    assert {name for name in may_be_set if "RANK" in name or "_ID" in name or "ADDR" in name} <= refused | {
        "PET_LOCAL_ADDR"
    }
    assert plan(made) == plan(made), "the same job gives the same plan"
    assert len(ranks) > len(serves(made.spec)), "somebody decides when the job is done"


def torch_rank(rank: RankPlan) -> Identity:
    env = rank.env
    assert int(env["RANK"]) == int(env["GROUP_RANK"]) * int(env["LOCAL_WORLD_SIZE"]) + int(env["LOCAL_RANK"])
    return int(env["RANK"]), int(env["WORLD_SIZE"])


def lightning_rank(rank: RankPlan) -> Identity:
    """As TorchElasticEnvironment reads it: `detect`, then `validate_settings` of what Trainer and Fabric find."""
    env = rank.env
    assert "TORCHELASTIC_RUN_ID" in env
    for prefix in ("PL_TRAINER", "LT"):
        assert int(env[f"{prefix}_DEVICES"]) * int(env[f"{prefix}_NUM_NODES"]) == int(env["WORLD_SIZE"])
        assert env[f"{prefix}_DEVICES"] == env["LOCAL_WORLD_SIZE"]
    return torch_rank(rank)


def deepspeed_rank(rank: RankPlan) -> Identity:
    env = rank.env
    assert int(env["CROSS_RANK"]) * int(env["LOCAL_SIZE"]) + int(env["LOCAL_RANK"]) == int(env["RANK"])
    assert env["DS_ACCELERATOR"] == "cpu"
    return torch_rank(rank)


def tf_task(rank: RankPlan) -> Identity:
    if "TF_CONFIG" not in rank.env:
        return 0, 1
    config = json.loads(rank.env["TF_CONFIG"])
    task, cluster = config["task"], config["cluster"]
    assert cluster[task["type"]][task["index"]] == rank.env["TRAINYARD_ENDPOINT"], "it finds itself in the cluster"
    return task["index"], len(cluster["worker"])


def jax_process(rank: RankPlan) -> Identity:
    assert rank.env["JAX_COORDINATOR_ADDRESS"].endswith(":" + rank.env["TRAINYARD_MASTER_PORT"])
    return int(rank.env["JAX_PROCESS_ID"]), int(rank.env["JAX_NUM_PROCESSES"])


def paddle_trainer(rank: RankPlan) -> Identity:
    env = rank.env
    endpoints = env["PADDLE_TRAINER_ENDPOINTS"].split(",")
    assert endpoints[int(env["PADDLE_TRAINER_ID"])] == env["PADDLE_CURRENT_ENDPOINT"]
    assert env["PADDLE_JOB_ID"] != "default"
    assert env["PADDLE_DISTRI_BACKEND"] == "gloo"
    return int(env["PADDLE_TRAINER_ID"]), int(env["PADDLE_TRAINERS_NUM"])


def xgboost_worker(rank: RankPlan) -> Identity:
    return int(rank.env["DMLC_TASK_ID"]), int(rank.env["DMLC_NUM_WORKER"])


def mxnet_worker(rank: RankPlan) -> Identity:
    if "DMLC_ROLE" not in rank.env:
        return 0, 1
    return int(rank.env["DMLC_WORKER_ID"]), int(rank.env["DMLC_NUM_WORKER"])


def ascend_rank(rank: RankPlan) -> Identity:
    assert int(rank.env["DEVICE_ID"]) == rank.place.process
    return int(rank.env["RANK_ID"]), int(rank.env["RANK_SIZE"])


def our_rank(rank: RankPlan) -> Identity:
    endpoints = rank.env["TRAINYARD_ENDPOINTS"].split(",")
    assert endpoints[int(rank.env["TRAINYARD_RANK"])] == rank.env["TRAINYARD_ENDPOINT"]
    return int(rank.env["TRAINYARD_RANK"]), int(rank.env["TRAINYARD_WORLD_SIZE"])


READ: Mapping[tuple[str, str | None], Callable[[RankPlan], Identity]] = {
    ("pytorch", None): torch_rank,
    ("lightning", None): lightning_rank,
    ("deepspeed", None): deepspeed_rank,
    ("colossalai", None): torch_rank,
    ("oneflow", None): torch_rank,
    ("tensorflow", None): tf_task,
    ("keras", "torch"): torch_rank,
    ("keras", "tensorflow"): tf_task,
    ("keras", "jax"): jax_process,
    ("jax", None): jax_process,
    ("paddle", None): paddle_trainer,
    ("mxnet", None): mxnet_worker,
    ("mindspore", "rank-table"): ascend_rank,
    ("xgboost", None): xgboost_worker,
    **{(name, None): our_rank for name in ("generic", "lightgbm", "catboost", "sklearn")},
}
BY_A_LAUNCHER = {"mindspore", "horovod", "mpi", "ray"}


def test_every_framework_is_read_by_a_test() -> None:
    assert {name for name, _ in READ} | BY_A_LAUNCHER == set(ADAPTERS) == set(FRAMEWORKS)


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
@pytest.mark.parametrize(("framework", "mode"), READ)
def test_the_framework_reads_dense_ranks_that_agree(
    job: MakeJob, plan: MakePlan, framework: str, mode: str | None, nodes: int, processes: int
) -> None:
    ranks = plan(job(**shaped(framework, mode, nodes, processes))).ranks
    read = [READ[framework, mode](rank) for rank in ranks if rank.place.role == "worker"]
    assert read == [(number, nodes * processes) for number in range(nodes * processes)]


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
@pytest.mark.parametrize(
    ("framework", "mode", "count"),
    [
        ("pytorch", "torchrun", "PET_NPROC_PER_NODE"),
        ("lightning", "torchrun", "PET_NPROC_PER_NODE"),
        ("paddle", "launch", "PADDLE_NPROC_PER_NODE"),
    ],
)
def test_a_launcher_of_the_framework_on_every_replica(
    job: MakeJob, plan: MakePlan, framework: str, mode: str, count: str, nodes: int, processes: int
) -> None:
    ranks = plan(job(**shaped(framework, mode, nodes, processes))).ranks
    assert len(ranks) == nodes
    assert {rank.env[count] for rank in ranks} == {str(processes)}
    assert all("TRAINYARD_RANK" not in rank.env for rank in ranks), "the launcher numbers its children"
    assert ranks[0].command[1] == "-m"


def test_a_launchers_own_logs_lie_with_the_results_not_with_the_code(job: MakeJob, plan: MakePlan) -> None:
    (paddle,) = plan(job(**shaped("paddle", "launch", 1, 2))).ranks
    assert paddle.env["PADDLE_LOG_DIR"] == f"{paddle.env['TRAINYARD_OUTPUT']}/paddle_log"
    (msrun,) = plan(job(**shaped("mindspore", "msrun", 1, 2))).ranks
    assert f"--log_dir={msrun.env['TRAINYARD_OUTPUT']}/msrun_log" in msrun.command


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
def test_msrun(job: MakeJob, plan: MakePlan, nodes: int, processes: int) -> None:
    ranks = plan(job(framework="mindspore", replicas=nodes, processes=processes, command="python t.py -x")).ranks
    if nodes * processes == 1:
        assert ranks[0].command == ("/image/bin/python", "t.py", "-x")
        return
    for number, rank in enumerate(ranks):
        assert rank.command[0] == "msrun"
        assert {f"--worker_num={nodes * processes}", f"--local_worker_num={processes}"} < set(rank.command)
        assert f"--node_rank={number}" in rank.command
        assert rank.command[-2:] == ("t.py", "-x")


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
@pytest.mark.parametrize(("framework", "words"), [("mpi", ("mpiexec", "-n")), ("horovod", ("horovodrun", "--gloo"))])
def test_one_launcher_for_the_whole_job(
    job: MakeJob, plan: MakePlan, framework: str, words: tuple[str, str], nodes: int, processes: int
) -> None:
    (rank,) = plan(job(framework=framework, replicas=nodes, processes=processes, command="python t.py")).ranks
    assert rank.command[:2] == words
    assert str(nodes * processes) in rank.command
    assert rank.command[-2:] == ("/image/bin/python", "t.py")


@pytest.mark.parametrize(("nodes", "processes"), SHAPES)
def test_ray_has_one_head_that_waits_for_everybody(job: MakeJob, plan: MakePlan, nodes: int, processes: int) -> None:
    made = job(framework="ray", replicas=nodes, processes=processes, command="python t.py")
    head, *workers = plan(made).ranks
    assert head.command[-3:] == ("--", "/image/bin/python", "t.py")
    assert head.command[head.command.index("--nodes") + 1] == str(nodes)
    assert serves(made.spec) == set(range(1, nodes))
    assert all("t.py" not in worker.command for worker in workers)
    assert all(rank.command[rank.command.index("--cpus") + 1] == str(processes) for rank in (head, *workers))
