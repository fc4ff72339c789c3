"""Where this process stands in its job, from what the launcher put into the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    job_id: str | None
    """None outside a job."""
    framework: str | None
    mode: str | None
    attempt: int
    """From 1; above 1 the job goes on after a failure."""
    role: str
    rank: int
    local_rank: int
    world_size: int
    master: tuple[str, int] | None
    """Where the ranks may meet: host and a port that belongs to this attempt."""
    endpoint: str | None
    """This process's own `host:port`."""
    endpoints: tuple[str, ...]
    """Everybody's, by rank; empty in very large jobs."""


_RANKS = (
    ("TRAINYARD_RANK", "TRAINYARD_LOCAL_RANK", "TRAINYARD_WORLD_SIZE"),
    ("RANK", "LOCAL_RANK", "WORLD_SIZE"),  # torchrun
    ("PADDLE_TRAINER_ID", "PADDLE_RANK_IN_NODE", "PADDLE_TRAINERS_NUM"),  # paddle.distributed.launch
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    ("PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"),  # MPICH, Intel MPI
    ("HOROVOD_RANK", "HOROVOD_LOCAL_RANK", "HOROVOD_SIZE"),  # horovodrun --gloo
    ("RANK_ID", "DEVICE_ID", "RANK_SIZE"),  # msrun
    ("MS_NODE_ID", "MS_NODE_ID", "MS_WORKER_NUM"),  # MindSpore's dynamic cluster
)
"""Who numbers the processes: the launcher, or where a launcher of the framework starts them, that one."""


def here() -> Place:
    env = os.environ
    rank, local_rank, world_size = next(
        (
            (int(env[names[0]]), int(env.get(names[1], 0)), int(env.get(names[2], 1)))
            for names in _RANKS
            if env.get(names[0], "").isdecimal()
        ),
        (0, 0, 1),
    )
    port = env.get("TRAINYARD_MASTER_PORT")
    return Place(
        job_id=env.get("TRAINYARD_JOB_ID"),
        framework=env.get("TRAINYARD_FRAMEWORK"),
        mode=env.get("TRAINYARD_MODE"),
        attempt=int(env.get("TRAINYARD_ATTEMPT", 1)),
        role=env.get("TRAINYARD_ROLE", "worker"),
        rank=rank,
        local_rank=local_rank,
        world_size=world_size,
        master=(env.get("TRAINYARD_MASTER_ADDR", "127.0.0.1"), int(port)) if port else None,
        endpoint=env.get("TRAINYARD_ENDPOINT"),
        endpoints=tuple(filter(None, env.get("TRAINYARD_ENDPOINTS", "").split(","))),
    )


def output_dir() -> Path:
    """The folder for results that others read (models, samples); shared by all ranks and attempts."""
    return _folder("TRAINYARD_OUTPUT", "output")


def checkpoint_dir() -> Path:
    """The folder for what the job itself needs to go on after a restart."""
    return _folder("TRAINYARD_CHECKPOINT", "checkpoint")


def _folder(variable: str, default: str) -> Path:
    folder = Path(os.environ.get(variable, default))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
