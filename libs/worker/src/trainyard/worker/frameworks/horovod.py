"""Horovod. The handle is `horovod.torch`, or where the image has no torch `horovod.tensorflow`.

Source: Horovod documentation, "Horovod with PyTorch".
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del backend, timeout  # said to horovodrun
    hvd = import_module("horovod.torch" if find_spec("torch") else "horovod.tensorflow")
    hvd.init()
    backend = "nccl" if hvd.nccl_built() else "mpi" if hvd.mpi_enabled() else "gloo"
    return Process(hvd.rank(), hvd.local_rank(), hvd.size(), backend, "cpu", hvd, hvd.shutdown)


def describe(process: Process) -> str:
    return f"{process.handle.__name__}, "
