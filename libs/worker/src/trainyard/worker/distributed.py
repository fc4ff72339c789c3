"""The process group, from what the launcher injected.

Sources: torch.distributed documentation ("env://" initialisation; which backend for which device).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from trainyard.worker.place import here

DEFAULT_TIMEOUT = 600.0
"""Seconds a collective waits for a peer before it fails. PyTorch's own default for gloo is 30 minutes, in which a dead
rank would hold the others."""


@dataclass(frozen=True)
class Process:
    """This process in the group."""

    rank: int
    local_rank: int
    world_size: int
    backend: str | None
    """None where the job has a single process: no group is needed."""
    device: Any
    """A torch.device."""

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def close(self) -> None:
        """Leave the group. Call it at the end, so that no rank hangs in another's exit."""
        if self.backend is not None:
            import torch.distributed as dist

            dist.destroy_process_group()


def init_distributed(backend: str | None = None, *, timeout: float = DEFAULT_TIMEOUT, quiet: bool = False) -> Process:
    """Join the job's process group (PyTorch). Every rank must call it.

    `backend`: nccl where every rank has a GPU, gloo otherwise. `timeout`: seconds. Prints what it chose, once, on rank 0,
    unless `quiet`. Raises RuntimeError naming what is missing from the environment, or who did not come.
    """
    import torch

    place = here()
    device = _device(torch, place.local_rank)
    if place.world_size == 1:
        process = Process(0, 0, 1, None, device)
    else:
        chosen = backend or ("nccl" if device.type == "cuda" else "gloo")
        _join(chosen, place.world_size, timeout)
        process = Process(place.rank, place.local_rank, place.world_size, chosen, device)
    if process.is_main and not quiet:
        print(
            f"trainyard: {process.world_size} process(es), backend {process.backend or 'none'}, device {process.device}, "
            f"{torch.get_num_threads()} threads each, time-out {timeout:g} s",
            flush=True,
        )
    return process


def _device(torch: Any, local_rank: int) -> Any:
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
        return torch.device("cuda", local_rank % torch.cuda.device_count())
    return torch.device("cpu")


def _join(backend: str, world_size: int, timeout: float) -> None:
    import torch.distributed as dist

    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise RuntimeError(
            f"{', '.join(missing)} not set: a job with `framework: pytorch` gets them; by hand use torchrun"
        )
    try:
        dist.init_process_group(backend, init_method="env://", timeout=timedelta(seconds=timeout))
    except dist.DistStoreError as error:
        where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise RuntimeError(f"not all of {world_size} ranks came to {where} within {timeout:g} s: {error}") from error
