"""The process group, from what the launcher injected.

Sources: torch.distributed documentation ("env://" initialisation; which backend for which device).
"""

from __future__ import annotations

import errno
import os
import socket
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from trainyard.worker.place import here

DEFAULT_TIMEOUT = 600.0
"""Seconds a collective waits for a peer before it fails. PyTorch's own default for gloo is 30 minutes, in which a dead
rank would hold the others."""

PORT_PATIENCE = 15.0
"""Seconds that rank 0 waits for its port to become free."""


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
    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    # Under torchrun the agent listens for rank 0.
    if here().rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        _wait_for_port(int(os.environ["MASTER_PORT"]), min(timeout, PORT_PATIENCE), where)
    try:
        dist.init_process_group(backend, init_method="env://", timeout=timedelta(seconds=timeout))
    except dist.DistStoreError as error:
        raise RuntimeError(
            f"not all of {world_size} ranks came to {where} within {timeout:g} s: {_sentence(error)}"
        ) from error
    except dist.DistNetworkError as error:
        raise RuntimeError(f"rank {here().rank} cannot use {where}: {_sentence(error)}") from error


def _wait_for_port(port: int, patience: float, where: str) -> None:
    """Until the port can be listened on: an attempt that has just ended may hold it for a moment. Looked at beforehand,
    because every failed `init_process_group` counts up the name of the group, and the ranks would no longer meet."""
    deadline = time.monotonic() + patience
    while True:
        try:
            socket.create_server(("", port)).close()
            return
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return  # torch will say it better
        if time.monotonic() > deadline:
            raise RuntimeError(f"{where} is taken by another process: the job needs a free MASTER_PORT")
        time.sleep(0.25)


def _sentence(error: Exception) -> str:
    """The first line: torch appends a stack of its own C++ frames."""
    return str(error).strip().split("\n")[0][:300]
