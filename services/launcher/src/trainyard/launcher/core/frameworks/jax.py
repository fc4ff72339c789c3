"""JAX: what `jax.distributed.initialize` needs. JAX reads only the address by itself; trainyard.worker passes the rest.

Source: jax `_src/distributed.py`.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Group, Place


def processes(place: Place, group: Group) -> dict[str, str]:
    return {
        "JAX_COORDINATOR_ADDRESS": group.rendezvous.address,
        "JAX_NUM_PROCESSES": str(place.world_size),
        "JAX_PROCESS_ID": str(place.rank),
    }


ADAPTER = Adapter(processes)
