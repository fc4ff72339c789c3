"""OneFlow. It reads torch's names by itself at import. Source: oneflow `distributed/launch.py`. Never run by us."""

from __future__ import annotations

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del timeout
    import oneflow as flow

    kind = "cuda" if flow.cuda.is_available() else "cpu"
    size = flow.env.get_world_size()
    device = flow.device(kind, here().local_rank if kind == "cuda" else 0)
    chosen = (backend or ("nccl" if kind == "cuda" else "gloo")) if size > 1 else None
    return Process(flow.env.get_rank(), flow.env.get_local_rank(), size, chosen, device, flow.env)


def describe(process: Process) -> str:
    del process
    return ""
