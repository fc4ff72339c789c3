"""What every adapter is given and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank stands in the job. Ranks are dense over all roles, in the order of the roles."""

    rank: int
    world_size: int
    role: str
    replica: int
    """Index within the role: a machine or a pod."""
    process: int
    """Index within the replica."""
    processes: int
    """Processes of the replica."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where the ranks meet."""

    host: str
    port: int
    interface: str
    """Network interface for collectives (`lo` on one machine)."""
    attempt: int


Adapter = Callable[[Place, Rendezvous], dict[str, str]]
"""The environment that forms the process group for one rank."""
