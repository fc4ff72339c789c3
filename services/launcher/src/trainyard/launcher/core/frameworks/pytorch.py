"""PyTorch: what `torch.distributed.init_process_group(init_method="env://")` reads, or a torchrun on every replica.

Sources: torch elastic documentation, "Environment Variables" and "torchrun" (every option has a PET_ variable);
GLOO_SOCKET_IFNAME from torch.distributed's notes. DeepSpeed, Colossal-AI and OneFlow read the same.
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Command, Group, Place, Unit


def ranks(place: Place, group: Group) -> dict[str, str]:
    """A process that is a rank of torch.distributed."""
    return {
        "RANK": str(place.rank),
        "WORLD_SIZE": str(place.world_size),
        "LOCAL_RANK": str(place.process),
        "LOCAL_WORLD_SIZE": str(place.processes),
        "GROUP_RANK": str(place.node),
        "MASTER_ADDR": group.rendezvous.host,
        "MASTER_PORT": str(group.rendezvous.port),
        "TORCHELASTIC_RESTART_COUNT": str(group.attempt - 1),
        "GLOO_SOCKET_IFNAME": group.rendezvous.interface,
    }


def agent(place: Place, group: Group) -> dict[str, str]:
    """A torchrun that starts the ranks of its replica, and starts all of them again when one fails."""
    elastic = group.elastic
    nodes = f"{min(elastic.min_replicas, group.nodes)}:{group.nodes}" if elastic else str(group.nodes)
    return {
        "PET_NNODES": nodes,
        "PET_NPROC_PER_NODE": str(place.starts),
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": group.rendezvous.address,
        "PET_RDZV_ID": f"{group.job_id}.{group.attempt}",
        # Who listens is said, not guessed: on one machine every agent would recognise the host as itself.
        "PET_RDZV_CONF": f"is_host={int(place.rank == 0)}",
        "PET_MAX_RESTARTS": str(elastic.restarts if elastic else 0),
        # With the agents' store shared, ranks that are started again wait for one another for ever, now and then (2.13).
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        "PET_LOCAL_ADDR": group.endpoint(place).rpartition(":")[0],
        "GLOO_SOCKET_IFNAME": group.rendezvous.interface,
    }


def _environment(place: Place, group: Group) -> dict[str, str]:
    return agent(place, group) if group.mode == "torchrun" else ranks(place, group)


def _command(command: Command, place: Place, group: Group) -> Command:
    del place
    return ("python", "-m", "torch.distributed.run", "--no-python", *command) if group.mode == "torchrun" else command


ADAPTER = Adapter(_environment, _command, {"torchrun": Unit.REPLICA})
LIKE_TORCH = Adapter(ranks)
