"""Ray: a head and workers form a cluster of the job's own; the command runs on the head and finds it at RAY_ADDRESS.

Without roles the first replica is the head. trainyard.worker.ray_node starts the nodes and ends them with the command.
Source: Ray's documentation, "Launching an On-Premise Cluster" (`ray start --head`, `ray start --address`).
"""

from __future__ import annotations

from trainyard.launcher.core.frameworks.shape import Adapter, Command, Group, Place, Unit


def _environment(place: Place, group: Group) -> dict[str, str]:
    del place
    return {"RAY_ADDRESS": group.rendezvous.address}


def _command(command: Command, place: Place, group: Group) -> Command:
    node = ("python", "-m", "trainyard.worker.ray_node", "--address", group.rendezvous.address)
    if place.rank == 0:
        return (*node, "--head", "--nodes", str(len(group.places)), "--cpus", str(place.starts), "--", *command)
    return (*node, "--cpus", str(place.starts))


def _serves(place: Place, roles: frozenset[str]) -> bool:
    del roles
    return place.rank != 0


ADAPTER = Adapter(_environment, _command, {"processes": Unit.REPLICA}, _serves)
