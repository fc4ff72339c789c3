"""The frameworks that a job file may name: one literal row each, and a launcher adapter behind every row.

A row says what a person may write: the modes (ways to start the processes; the first is the default), the names of the
roles (none: any name), which roles only serve the others, and the environment variables that the launcher gives, which a
job may therefore not set itself. Submission is checked against it, and pages and the CLI show it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

FrameworkName = Literal[
    "generic", "pytorch", "lightning", "deepspeed", "tensorflow", "keras", "jax", "paddle", "mindspore", "mxnet", "horovod",
    "mpi", "colossalai", "oneflow", "xgboost", "lightgbm", "catboost", "sklearn", "ray",
]  # fmt: skip

PROCESSES = "processes"
"""The mode in which the launcher starts every process itself."""

_TORCH = frozenset(
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT TORCHELASTIC_RESTART_COUNT".split()
)
"""Source: torch elastic documentation, "Environment Variables"."""
_TORCHRUN = frozenset(
    "PET_NNODES PET_NPROC_PER_NODE PET_RDZV_BACKEND PET_RDZV_ENDPOINT PET_RDZV_ID PET_RDZV_CONF PET_MAX_RESTARTS "
    "PET_LOCAL_ADDR PET_MASTER_ADDR PET_MASTER_PORT PET_NODE_RANK".split()
)
_LIGHTNING = frozenset(
    "TORCHELASTIC_RUN_ID PL_TRAINER_DEVICES PL_TRAINER_NUM_NODES LT_DEVICES LT_NUM_NODES".split()
)
_TF = frozenset({"TF_CONFIG"})
_JAX = frozenset({"JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"})
_DMLC = frozenset(
    "DMLC_ROLE DMLC_PS_ROOT_URI DMLC_PS_ROOT_PORT DMLC_NUM_SERVER DMLC_NUM_WORKER DMLC_WORKER_ID DMLC_NODE_HOST".split()
)


@dataclass(frozen=True, slots=True)
class FrameworkRow:
    title: str
    modes: Mapping[str, str] = field(default_factory=lambda: {PROCESSES: "every process is started with its rank"})
    """Mode → what it does; the first is the default."""
    roles: tuple[str, ...] = ("worker",)
    """Names that a job may give its roles; empty: any."""
    single: frozenset[str] = frozenset()
    """Roles of exactly one process."""
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Role → the roles that it cannot be without."""
    gang: tuple[str, ...] = ()
    """The roles that more than one process needs."""
    elastic: frozenset[str] = frozenset()
    """Modes that bear `elastic`."""
    reserved: frozenset[str] = frozenset()
    """What the launcher gives beside the TRAINYARD_* variables and torch's, which no job may set."""


_ROWS: dict[FrameworkName, FrameworkRow] = {
    "generic": FrameworkRow("any command; ranks are numbered and told one another's addresses", roles=()),
    "pytorch": FrameworkRow(
        "PyTorch with torch.distributed (DDP, FSDP)",
        {
            PROCESSES: "every process is started with its rank",
            "torchrun": "torchrun on every replica; with `elastic` it restarts processes and bears fewer replicas",
        },
        roles=("master", "worker"),
        single=frozenset({"master"}),
        elastic=frozenset({"torchrun"}),
        reserved=_TORCH | _TORCHRUN,
    ),
    "lightning": FrameworkRow(
        "PyTorch Lightning (Trainer, Fabric) on torch.distributed",
        {
            PROCESSES: "every process is started with its rank",
            "torchrun": "torchrun on every replica; with `elastic` it restarts processes and bears fewer replicas",
        },
        elastic=frozenset({"torchrun"}),
        reserved=_TORCH | _TORCHRUN | _LIGHTNING,
    ),
    "deepspeed": FrameworkRow(
        "DeepSpeed (ZeRO 1, 2, 3, offload) on torch.distributed",
        roles=("master", "worker"),
        single=frozenset({"master"}),
        reserved=_TORCH | {"CROSS_RANK", "CROSS_SIZE", "LOCAL_SIZE"},
    ),
    "tensorflow": FrameworkRow(
        "TensorFlow: MultiWorkerMirroredStrategy, or ParameterServerStrategy with roles chief, worker and ps",
        roles=("chief", "worker", "ps", "evaluator"),
        single=frozenset({"chief", "evaluator"}),
        needs={"ps": ("chief", "worker"), "evaluator": ("worker",)},
        reserved=_TF,
    ),
    "keras": FrameworkRow(
        "Keras 3 on the backend that the mode names",
        {
            "torch": "Keras on PyTorch, ranks as for pytorch",
            "tensorflow": "Keras on TensorFlow, TF_CONFIG as for tensorflow",
            "jax": "Keras on JAX, processes as for jax",
        },
        reserved=_TORCH | _TF | _JAX | {"KERAS_BACKEND"},
    ),
    "jax": FrameworkRow("JAX with jax.distributed (Flax, Optax)", reserved=_JAX),
    "paddle": FrameworkRow(
        "PaddlePaddle: collective, or parameter servers with roles ps and worker",
        {
            PROCESSES: "every process is started with its rank",
            "launch": "paddle.distributed.launch on every replica, elastic where `elastic` is given",
        },
        roles=("worker", "ps"),
        needs={"ps": ("worker",)},
        elastic=frozenset({"launch"}),
        reserved=frozenset(
            "PADDLE_MASTER PADDLE_JOB_ID PADDLE_NNODES PADDLE_NPROC_PER_NODE PADDLE_RANK PADDLE_TRAINER_ID PADDLE_TRAINERS_NUM "
            "PADDLE_TRAINER_ENDPOINTS PADDLE_CURRENT_ENDPOINT PADDLE_RANK_IN_NODE PADDLE_LOCAL_SIZE PADDLE_PORT PADDLE_PSERVERS_IP_PORT_LIST "
            "PADDLE_MAX_RESTART PADDLE_ELASTIC_LEVEL TRAINING_ROLE POD_IP".split()
        ),
    ),
    "mindspore": FrameworkRow(
        "MindSpore: msrun, a dynamic cluster with roles scheduler and worker, or a rank table on Ascend",
        {
            "msrun": "msrun on every replica brings the scheduler; with a role scheduler every process is started by itself",
            "rank-table": "Ascend with a rank table at RANK_TABLE_FILE",
        },
        roles=("scheduler", "worker"),
        single=frozenset({"scheduler"}),
        needs={"scheduler": ("worker",)},
        reserved=frozenset(
            "MS_ROLE MS_SCHED_HOST MS_SCHED_PORT MS_WORKER_NUM MS_NODE_ID RANK_ID RANK_SIZE DEVICE_ID".split()
        ),
    ),
    "mxnet": FrameworkRow(
        "Apache MXNet with ps-lite: roles scheduler, server and worker",
        roles=("scheduler", "server", "worker"),
        single=frozenset({"scheduler"}),
        gang=("scheduler", "server", "worker"),
        reserved=_DMLC,
    ),
    "horovod": FrameworkRow(
        "Horovod on any of its frameworks",
        {
            "gloo": "horovodrun --gloo; needs no MPI",
            "mpi": "mpirun",
        },
    ),
    "mpi": FrameworkRow("any MPI program", {"mpirun": "one mpirun for all processes"}),
    "colossalai": FrameworkRow("Colossal-AI on torch.distributed", reserved=_TORCH),
    "oneflow": FrameworkRow("OneFlow", reserved=_TORCH),
    "xgboost": FrameworkRow(
        "XGBoost with its collective tracker",
        reserved=frozenset({"DMLC_TRACKER_URI", "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER"}),
    ),
    "lightgbm": FrameworkRow("LightGBM with its socket machines"),
    "catboost": FrameworkRow("CatBoost; ranks train independently"),
    "sklearn": FrameworkRow("scikit-learn; ranks train independently and may exchange results"),
    "ray": FrameworkRow(
        "Ray: a cluster of roles head and worker, the command runs on the head",
        roles=("head", "worker"),
        single=frozenset({"head"}),
        reserved=frozenset({"RAY_ADDRESS"}),
    ),
}

FRAMEWORKS: Mapping[str, FrameworkRow] = MappingProxyType({str(name): row for name, row in _ROWS.items()})

RESERVED_ENV = _TORCH
"""Names that no job may set, whatever its framework: one value for all ranks is never right."""

if set(FRAMEWORKS) != set(get_args(FrameworkName)):  # pragma: no cover - guards an edit of one without the other
    raise AssertionError("FRAMEWORKS and FrameworkName differ")


def fault(name: str, mode: str | None, elastic: bool, roles: Mapping[str, int]) -> str | None:
    """What is wrong with a job's shape, in one sentence; None when its framework can be started so.

    `roles`: role → processes of all its replicas.
    """
    row = FRAMEWORKS[name]
    if mode is not None and mode not in row.modes:
        return f"framework.mode {mode!r} is none of {name}'s: {', '.join(row.modes)}"
    if elastic and (mode or next(iter(row.modes))) not in row.elastic:
        how = f"set framework.mode to {' or '.join(sorted(row.elastic))}" if row.elastic else f"{name} has no elastic mode"
        return f"framework.elastic does not fit: {how}"
    return _fault_of_roles(name, row, roles)


def _fault_of_roles(name: str, row: FrameworkRow, roles: Mapping[str, int]) -> str | None:
    for role, processes in roles.items():
        if row.roles and role not in row.roles:
            return f"{name} knows no role {role!r}: {', '.join(row.roles)}"
        if role in row.single and processes != 1:
            return f"role {role} is a single process, not {processes}: set its replicas and processes to 1"
        missing = [other for other in row.needs.get(role, ()) if other not in roles]
        if missing:
            return f"role {role} needs {' and '.join(missing)} beside it"
    missing = [role for role in row.gang if role not in roles]
    if missing and sum(roles.values()) > 1:
        return f"{name} with more than one process needs roles {', '.join(row.gang)}; {' and '.join(missing)} missing"
    return None
