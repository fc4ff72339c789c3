"""JAX. The handle is the jax.distributed module; the collectives of CPU processes run on gloo, JAX's own default.

Source: jax.distributed.initialize.
"""

from __future__ import annotations

from trainyard.worker.meeting import first_sentence, required, wait_for_port
from trainyard.worker.place import here
from trainyard.worker.process import Process


def join(backend: str | None, timeout: float) -> Process:
    import jax

    place = here()
    if place.world_size == 1:
        return Process(0, 0, 1, None, jax.local_devices()[0])
    address, count, number = required("JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", framework="jax")
    if number == "0":
        wait_for_port(int(address.rpartition(":")[2]), timeout, address)
    try:
        jax.distributed.initialize(address, int(count), int(number), initialization_timeout=int(timeout))
    except RuntimeError as error:
        raise RuntimeError(
            f"process {number} of {count} cannot meet the others at {address}: {first_sentence(error)}"
        ) from error
    device = jax.local_devices()[0]
    chosen = backend or ("gloo" if device.platform == "cpu" else "nccl")
    return Process(int(number), place.local_rank, int(count), chosen, device, jax.distributed, jax.distributed.shutdown)


def describe(process: Process) -> str:
    import jax

    del process
    return f"{jax.device_count()} devices, "
