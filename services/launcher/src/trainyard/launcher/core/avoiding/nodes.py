"""What a decision asks about nodes. Pure; a backend without a choice of nodes answers as `Anywhere` does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from trainyard.common.contract.nodes import Avoided, Machine
from trainyard.launcher.core.job import Job


@dataclass(frozen=True, slots=True)
class Choice:
    avoids: tuple[Avoided, ...] = ()
    """The one that is to blame for longest ago first."""
    message: str = ""
    """Which nodes would be avoided, and are not."""


class Nodes(Protocol):
    """Each raises Unavailable while nobody knows yet which nodes there are."""

    @property
    def patience(self) -> float:
        """Seconds for which an attempt waits for other nodes than those that it avoids."""
        ...

    def machine(self, name: str, at: float) -> Machine:
        """The node that bore a name at a time (Unix seconds)."""
        ...

    def choose(self, job: Job) -> Choice:
        """What the job's next attempt keeps away from."""
        ...

    def usable(self, name: str) -> bool:
        """Whether pods could be placed there at this moment, as far as is known."""
        ...


class Anywhere:
    """Implements Nodes, where there is one node: what is to blame there is told, and nothing is avoided."""

    patience = float("inf")

    def machine(self, name: str, at: float) -> Machine:
        del at
        return Machine(node=name)

    def choose(self, job: Job) -> Choice:
        del job
        return Choice()

    def usable(self, name: str) -> bool:
        del name
        return True


def loosened(avoids: tuple[Avoided, ...], nodes: Nodes | None = None) -> str | None:
    """The node that an attempt which waits in vain is allowed again: the one that was to blame longest ago. None: waiting
    for others is all that can be done. `nodes`: pods must fit there at this moment."""
    loose = (item.node for item in avoids if not item.by_hand)
    return next((name for name in loose if nodes is None or nodes.usable(name)), None)
