"""MindSpore, under msrun, in a dynamic cluster or with a rank table. The handle is mindspore.communication.

A scheduler serves inside of `init` and ends with the workers. Source: mindspore.communication.init.
"""

from __future__ import annotations

import os

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del timeout  # MS_CLUSTER_TIMEOUT is msrun's
    import mindspore
    from mindspore import communication

    place = here()
    device = mindspore.get_context("device_target")
    if "MS_ROLE" not in os.environ and "RANK_TABLE_FILE" not in os.environ:
        return Process(0, 0, 1, None, device)
    communication.init(backend) if backend else communication.init()
    chosen = backend or {"Ascend": "hccl", "GPU": "nccl"}.get(device, "mccl")
    return Process(
        communication.get_rank(), place.local_rank, communication.get_group_size(), chosen, device, communication,
        communication.release,
    )  # fmt: skip


def describe(process: Process) -> str:
    del process
    return ""
