"""PyTorch, and what is built on torch.distributed.

Sources: torch.distributed documentation ("env://" initialisation; which backend for which device); NCCL and torch
documentation for the variables of DEFAULTS.
"""

from __future__ import annotations

import atexit
import os
from datetime import timedelta
from typing import Any

from trainyard.worker import defaults
from trainyard.worker.meeting import first_sentence, required, wait_for_port
from trainyard.worker.place import here
from trainyard.worker.process import Process

GPU_DEFAULTS = {
    # Fragments of freed blocks are joined again: fewer "out of memory" with plenty free.
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "NCCL_DEBUG": "WARN",
    # A rank that has lost its peers ends, and the launcher tells it, instead of hanging.
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
}


def join(backend: str | None, timeout: float) -> Process:
    import torch

    place = here()
    kind = _kind(torch)
    if kind == "cuda":
        defaults.environment(GPU_DEFAULTS)
    device = _device(torch, kind, place.local_rank)
    if place.world_size == 1:
        return Process(0, 0, 1, None, device)
    chosen = backend or {"cuda": "nccl", "npu": "hccl"}.get(kind, "gloo")
    _join(chosen, place.world_size, timeout)
    import torch.distributed as dist

    return Process(place.rank, place.local_rank, place.world_size, chosen, device, dist, _leave)


def describe(process: Process) -> str:
    import torch

    del process
    return f"{torch.get_num_threads()} threads each, "


def _leave() -> None:
    """What is left of the group is kept until the interpreter ends.

    Else a DistributedDataParallel that lives longer than the group is its last owner, and torch then joins the group's
    thread with the GIL held, which that thread may be waiting for: the rank hangs at its end, now and then, on a machine that
    is busy (pytorch issue 56297; seen with 2.13). An owner in Python gives the GIL away meanwhile.
    """
    import torch.distributed as dist

    kept = [dist.group.WORLD]
    dist.destroy_process_group()
    atexit.register(kept.clear)


def _kind(torch: Any) -> str:
    if torch.cuda.is_available():
        return "cuda"
    npu = getattr(torch, "npu", None)  # torch_npu adds it
    return "npu" if npu is not None and npu.is_available() else "cpu"


def _device(torch: Any, kind: str, local_rank: int) -> Any:
    if kind == "cpu":
        return torch.device("cpu")
    module = getattr(torch, kind)
    index = local_rank % module.device_count()
    module.set_device(index)
    return torch.device(kind, index)


def _join(backend: str, world_size: int, timeout: float) -> None:
    import torch.distributed as dist

    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    try:
        _, _, host, port = required(*names, framework="pytorch")
    except RuntimeError as error:
        raise RuntimeError(f"{error}; by hand use torchrun") from None
    where = f"{host}:{port}"
    # Under torchrun the agent listens for rank 0.
    if here().rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        wait_for_port(int(port), timeout, where)
    try:
        dist.init_process_group(backend, init_method="env://", timeout=timedelta(seconds=timeout))
    except dist.DistStoreError as error:
        raise RuntimeError(
            f"not all of {world_size} ranks came to {where} within {timeout:g} s: {first_sentence(error)}"
        ) from error
    except dist.DistNetworkError as error:
        raise RuntimeError(f"rank {here().rank} cannot use {where}: {first_sentence(error)}") from error
