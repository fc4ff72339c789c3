"""What the launcher needs beside the log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from trainyard.common.bus.port import Batch
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import RankSeen
from trainyard.launcher.core.plan import Interpreter


@dataclass(frozen=True, slots=True)
class Report:
    """One progress report of a rank. `number` counts the reports of that rank, from 1."""

    number: int
    rank: int
    time: float
    epoch: int | None
    epochs: int | None
    step: int | None
    steps: int | None
    metrics: dict[str, float | None]


class Backend(Protocol):
    """Makes the ranks of an attempt and tells how they are. Every call may be repeated."""

    name: str
    node: str
    instant: bool
    """Nothing ever has to be waited for (the backend that starts nothing)."""
    poll: tuple[float, float]
    """Seconds between two looks at a job, at first and after a while."""

    def faults(self, job: Job) -> Sequence[str]:
        """What of the job cannot be in this place, whatever is free; empty: nothing."""
        ...

    async def start(self, job: Job, interpreter: Interpreter) -> None:
        """Make the ranks of the job's present attempt that are absent. Raises TrainyardError when it cannot, Unavailable
        when it cannot be said yet."""
        ...

    def look(self, job: Job) -> Sequence[RankSeen]:
        """Every rank of the present attempt, in order; empty when the attempt was never begun. Raises Unavailable when
        nobody knows at this moment."""
        ...

    async def stop(self, job: Job, why: str) -> None:
        """SIGTERM now, SIGKILL to the whole tree after the job's grace time."""
        ...

    def outputs(self, job: Job) -> str | None:
        """Where the results are."""
        ...

    def tail(self, job: Job, rank: int, count: int) -> Sequence[str]:
        """The last log lines of a rank of the present attempt."""
        ...

    def heard_all(self, job: Job) -> bool:
        """Whether no more lines will come of the present attempt's ranks that have ended."""
        ...

    def reports(self, job: Job, rank: int | None, after: int) -> list[Report]:
        """Reports after number `after` of a rank (None: the lowest that reports), oldest first."""
        ...

    def forget(self, job: Job) -> None:
        """The job has ended: what was kept in memory for it may go."""
        ...

    def on_change(self, told: Callable[[str], None]) -> None:
        """`told` hears the id of a job of which there is something new to see, where the backend knows."""
        ...


class Share(Protocol):
    """Which jobs are this launcher's, where several share the work."""

    def owns(self, job_id: str) -> bool: ...

    def on_change(self, told: Callable[[], None]) -> None:
        """`told` hears that jobs may have come or gone."""
        ...


class Images(Protocol):
    def interpreter(self, image: str) -> Interpreter | None:
        """The image when it is there; None when it has to be built first."""
        ...

    async def build(self, image: str) -> Interpreter:
        """Builds it. Raises TrainyardError in words."""
        ...

    async def fraction(self, image: str) -> float | None:
        """How much of an image that is being built is there, 0 to 1; None where nobody knows."""
        ...


class ActiveSet(Protocol):
    """The jobs that have not ended, as far as a cursor of the log."""

    @property
    def cursor(self) -> int: ...

    def all(self) -> dict[str, Job]: ...

    def apply(self, batch: Batch) -> list[Job]:
        """The jobs that the batch has moved, as they are after it; durable when it returns."""
        ...
