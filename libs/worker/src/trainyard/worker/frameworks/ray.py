"""Ray. The command runs once, on the head; the handle is the `ray` module, connected to the job's own cluster."""

from __future__ import annotations

import os

from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del backend, timeout
    import ray

    ray.init(address=os.environ.get("RAY_ADDRESS", "local"), log_to_driver=True)
    return Process(0, 0, 1, None, "cpu", ray, ray.shutdown)


def describe(process: Process) -> str:
    nodes = process.handle.nodes()
    cpus = process.handle.cluster_resources().get("CPU", 0)
    return f"{sum(node['Alive'] for node in nodes)} Ray nodes with {cpus:g} CPUs, "
