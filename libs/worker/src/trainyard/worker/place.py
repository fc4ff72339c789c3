"""Where this process stands in its job, from what the launcher put into the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    job_id: str | None
    """None outside a job."""
    attempt: int
    """From 1; above 1 the job goes on after a failure."""
    role: str
    rank: int
    local_rank: int
    world_size: int


def here() -> Place:
    env = os.environ
    return Place(
        job_id=env.get("TRAINYARD_JOB_ID"),
        attempt=int(env.get("TRAINYARD_ATTEMPT", 1)),
        role=env.get("TRAINYARD_ROLE", "worker"),
        rank=int(env.get("TRAINYARD_RANK", env.get("RANK", 0))),
        local_rank=int(env.get("TRAINYARD_LOCAL_RANK", env.get("LOCAL_RANK", 0))),
        world_size=int(env.get("TRAINYARD_WORLD_SIZE", env.get("WORLD_SIZE", 1))),
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
