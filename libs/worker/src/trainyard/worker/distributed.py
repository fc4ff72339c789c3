"""The process group, from what the launcher injected: one call for every framework.

Each framework has a module in trainyard.worker.frameworks with a function `join`; the table below names it. The framework
itself is imported there and nowhere else.
"""

from __future__ import annotations

from importlib import import_module

from trainyard.worker.place import here
from trainyard.worker.process import Process

DEFAULT_TIMEOUT = 600.0
"""Seconds a collective waits for a peer before it fails. PyTorch's own default for gloo is 30 minutes, in which a dead
rank would hold the others."""

JOINS = {
    "pytorch": "torch",
    "lightning": "lightning",
    "deepspeed": "deepspeed",
    "colossalai": "torch",
    "oneflow": "oneflow",
    "tensorflow": "tensorflow",
    "keras": "keras",
    "jax": "jax",
    "paddle": "paddle",
    "mindspore": "mindspore",
    "mxnet": "mxnet",
    "horovod": "horovod",
    "mpi": "mpi",
    "xgboost": "xgboost",
    "lightgbm": "lightgbm",
    "catboost": "independent",
    "sklearn": "independent",
    "generic": "independent",
    "ray": "ray",
}
"""Framework → its module in trainyard.worker.frameworks."""


def init_distributed(
    backend: str | None = None,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    quiet: bool = False,
    framework: str | None = None,
) -> Process:
    """Join the job's process group. Every rank must call it, before it uses the framework for anything else.

    `backend`: what collectives run on; default: nccl where every rank has a GPU, hccl on an NPU, gloo otherwise.
    `timeout`: seconds. `framework`: default the job's (outside a job PyTorch). Prints what it chose, once, on rank 0, unless
    `quiet`. Raises RuntimeError naming what is missing from the environment, or who did not come.

    Processes that only serve others (a parameter server, a scheduler) never return from it.
    """
    name = framework or here().framework or "pytorch"
    if name not in JOINS:
        raise ValueError(f"{name!r} is no framework of ours: {', '.join(JOINS)}")
    module = import_module(f"trainyard.worker.frameworks.{JOINS[name]}")
    process: Process = module.join(backend, timeout)
    if process.is_main and not quiet:
        print(
            f"trainyard: {process.world_size} process(es), backend {process.backend or 'none'}, device {process.device}, "
            f"{module.describe(process)}time-out {timeout:g} s",
            flush=True,
        )
    return process
