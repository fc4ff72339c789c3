"""Ranks that train independently: scikit-learn, CatBoost, any command. The handle is a Gang, to exchange results."""

from __future__ import annotations

from trainyard.worker.gang import Gang
from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del backend  # there is one
    place = here()
    if place.world_size == 1:
        return Process(0, 0, 1, None, "cpu", Gang(0, 1, None, timeout))
    if place.master is None:
        raise RuntimeError("TRAINYARD_MASTER_PORT not set: a job gets it from the launcher")
    gang = Gang(place.rank, place.world_size, place.master, timeout)
    return Process(place.rank, place.local_rank, place.world_size, "tcp", "cpu", gang, lambda: _leave(gang))


def describe(process: Process) -> str:
    del process
    return ""


def _leave(gang: Gang) -> None:
    gang.barrier()
    gang.close()
