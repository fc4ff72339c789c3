"""PaddlePaddle. Collective: the handle is paddle.distributed. Parameter servers: the handle is fleet; servers serve here.

Source: paddle.distributed.init_parallel_env, paddle.distributed.fleet.
"""

from __future__ import annotations

import os
from typing import Any

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del timeout  # it waits 15 minutes, and takes no other word for it
    import paddle

    place = here()
    if os.environ.get("TRAINING_ROLE"):
        return _parameter_server(place.local_rank)
    device = paddle.get_device()
    if place.world_size == 1:
        return Process(0, 0, 1, None, device)
    if backend:
        os.environ["PADDLE_DISTRI_BACKEND"] = backend
    import paddle.distributed as dist

    dist.init_parallel_env()
    chosen = os.environ.get("PADDLE_DISTRI_BACKEND") or ("gloo" if device == "cpu" else "nccl")
    return Process(dist.get_rank(), place.local_rank, dist.get_world_size(), chosen, device, dist)


def describe(process: Process) -> str:
    del process
    return ""


def _parameter_server(local_rank: int) -> Process:
    from paddle.distributed import fleet

    fleet.init(fleet.PaddleCloudRoleMaker(is_collective=False))
    leave: Any = fleet.stop_worker
    return Process(fleet.worker_index(), local_rank, fleet.worker_num(), "brpc", "cpu", fleet, leave)
