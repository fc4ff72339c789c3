"""LightGBM. The handle is the dict of parameters that makes `lightgbm.train` meet the other ranks; empty for one process.

Each rank trains on its own share of the rows (`pre_partition`). Source: LightGBM documentation, "Distributed Learning".
"""

from __future__ import annotations

import math

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del backend  # sockets, always
    place = here()
    if place.world_size == 1:
        return Process(0, 0, 1, None, "cpu", {})
    if len(place.endpoints) != place.world_size or place.endpoint is None:
        raise RuntimeError("TRAINYARD_ENDPOINTS not set: a job with `framework: lightgbm` gets them")
    parameters = {
        "tree_learner": "data",
        "num_machines": place.world_size,
        "machines": ",".join(place.endpoints),
        "local_listen_port": int(place.endpoint.rpartition(":")[2]),
        "time_out": max(1, math.ceil(timeout / 60)),  # minutes
        "pre_partition": True,
    }
    return Process(place.rank, place.local_rank, place.world_size, "socket", "cpu", parameters)


def describe(process: Process) -> str:
    return f"tree learner {process.handle.get('tree_learner', 'serial')}, "
