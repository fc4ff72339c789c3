"""A process in its group, whatever the framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def _nothing() -> None:
    """There is nothing to leave."""


@dataclass(frozen=True)
class Process:
    """This process in the group."""

    rank: int
    local_rank: int
    world_size: int
    backend: str | None
    """What collectives run on (nccl, gloo, mpi …); None where the job has a single process: no group is needed."""
    device: Any
    """The framework's own name or object for the device: a torch.device, a jax.Device, `cpu` …"""
    handle: Any = None
    """The framework's own object for the group: a tf.distribute strategy, an MXNet kvstore, an MPI communicator, a dict of
    LightGBM parameters, a Gang; see the framework's module in trainyard.worker.frameworks."""
    leave: Callable[[], None] = field(default=_nothing, repr=False)

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def close(self) -> None:
        """Leave the group. Call it at the end, so that no rank hangs in another's exit."""
        self.leave()
