"""MPI through mpi4py. The handle is COMM_WORLD. Source: mpi4py documentation; MPI is initialised by the import."""

from __future__ import annotations

from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    del backend, timeout  # MPI has neither
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    local = world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank() if world.Get_size() > 1 else here().local_rank
    return Process(world.Get_rank(), local, world.Get_size(), "mpi" if world.Get_size() > 1 else None, "cpu", world)


def describe(process: Process) -> str:
    del process
    from mpi4py import MPI

    return f"{MPI.Get_library_version().split(',')[0].splitlines()[0].strip()}, "
