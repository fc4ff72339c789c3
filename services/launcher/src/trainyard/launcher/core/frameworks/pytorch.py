"""PyTorch: what `torch.distributed.init_process_group(init_method="env://")` reads.

Source: torch elastic documentation, "Environment Variables"; GLOO_SOCKET_IFNAME from torch.distributed's notes.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Place, Rendezvous


def environment(place: Place, rendezvous: Rendezvous) -> dict[str, str]:
    return {
        "RANK": str(place.rank),
        "WORLD_SIZE": str(place.world_size),
        "LOCAL_RANK": str(place.process),
        "LOCAL_WORLD_SIZE": str(place.processes),
        "GROUP_RANK": str(place.replica),
        "MASTER_ADDR": rendezvous.host,
        "MASTER_PORT": str(rendezvous.port),
        "TORCHELASTIC_RESTART_COUNT": str(rendezvous.attempt - 1),
        "GLOO_SOCKET_IFNAME": rendezvous.interface,
    }
