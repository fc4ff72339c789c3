"""What every adapter is given and gives.

An adapter is the knowledge of one framework's runtime as pure functions: which processes the launcher starts (every one,
one a replica, or one for all), what they find in their environment, how the user's command is wrapped, and which of them
only serve the others. It knows nothing of machines: addresses come from the backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.common.contract.jobs import Elastic, Framework

Command = tuple[str, ...]


class Unit(Enum):
    """What the launcher starts; the framework's own launcher starts the rest."""

    PROCESS = "every process"
    REPLICA = "one process a replica"
    JOB = "one process for the whole job"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a started process stands in the job. Ranks are dense over all roles, in the order of the roles."""

    rank: int
    world_size: int
    role: str
    replica: int
    """Index within the role: a machine or a pod."""
    process: int
    """Index within the replica."""
    processes: int
    """Started processes of the replica."""
    index: int = 0
    """Index within the role, dense over its replicas."""
    node: int = 0
    """Index of the replica, dense over all roles."""
    starts: int = 1
    """Processes of the framework that it is, or that it starts itself."""


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where the ranks meet."""

    host: str
    port: int
    """Belongs to the whole attempt; rank 0 listens on it where the framework needs that."""
    endpoints: tuple[str, ...]
    """Rank → `host:port` that is this rank's own."""
    interface: str
    """Network interface for collectives (`lo` on one machine)."""

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Group:
    """Everybody in an attempt, and where they meet."""

    job_id: str
    attempt: int
    framework: Framework
    places: tuple[Place, ...]
    rendezvous: Rendezvous
    accelerator: str
    """`cpu`, or the kind that the processes get."""
    output: str
    """The folder for results, where a framework's launcher may leave its own logs."""

    @property
    def mode(self) -> str:
        return mode_of(self.framework)

    @property
    def elastic(self) -> Elastic | None:
        return self.framework.elastic

    @property
    def size(self) -> int:
        """Processes of the framework in all."""
        return sum(place.starts for place in self.places)

    @property
    def nodes(self) -> int:
        return 1 + max(place.node for place in self.places)

    def of(self, *roles: str) -> list[Place]:
        return [place for place in self.places if place.role in roles]

    def endpoint(self, place: Place) -> str:
        return self.rendezvous.endpoints[place.rank]

    def endpoints(self, *roles: str) -> list[str]:
        return [self.endpoint(place) for place in self.of(*roles)]


def mode_of(framework: Framework) -> str:
    return framework.mode or next(iter(FRAMEWORKS[framework.name].modes))


def script_of(command: Command) -> Command:
    """For launchers that start a script with their own interpreter: the command without that word."""
    named = command[0].rpartition("/")[2]
    return command[1:] if len(command) > 1 and named in {"python", "python3"} else command


def as_written(command: Command, place: Place, group: Group) -> Command:
    del place, group
    return command


def nobody(place: Place, roles: frozenset[str]) -> bool:
    del place, roles
    return False


def nothing(place: Place, group: Group) -> dict[str, str]:
    del place, group
    return {}


@dataclass(frozen=True, slots=True)
class Adapter:
    environment: Callable[[Place, Group], dict[str, str]] = nothing
    """What one process reads to find its group; beside the TRAINYARD_* variables that everybody gets."""
    command: Callable[[Command, Place, Group], Command] = as_written
    """The user's command as it is started; `python` as first word is the image's interpreter."""
    units: Mapping[str, Unit] = field(default_factory=dict)
    """Mode → unit, where that is not every process."""
    serves: Callable[[Place, frozenset[str]], bool] = nobody
    """Whether a process only serves the others, given all roles of the job: it is ended when those are done."""

    def unit(self, framework: Framework, roles: frozenset[str]) -> Unit:
        # A role for the framework's own helper means that every process is started by itself.
        if "scheduler" in roles:
            return Unit.PROCESS
        return self.units.get(mode_of(framework), Unit.PROCESS)
