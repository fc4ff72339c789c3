"""The backend that starts nothing: every rank has succeeded as soon as it is asked for. For measuring the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.observation import Phase, RankSeen
from trainyard.launcher.core.plan import Interpreter, places
from trainyard.launcher.ports import Report


class NoopBackend:
    """Implements ports.Backend."""

    name = "noop"
    instant = True
    poll = (0.05, 0.25)

    def __init__(self, node: str) -> None:
        self.node = node

    def faults(self, job: Job) -> Sequence[str]:
        return ()

    async def start(self, job: Job, interpreter: Interpreter) -> None:
        """Nothing to start."""

    def look(self, job: Job) -> Sequence[RankSeen]:
        return [RankSeen(rank, Phase.ENDED, exit_code=0) for rank in range(len(places(job.spec)))]

    async def stop(self, job: Job, why: str) -> None:
        """Nothing to stop."""

    def outputs(self, job: Job) -> str | None:
        return None

    def tail(self, job: Job, rank: int, count: int) -> Sequence[str]:
        return ()

    def heard_all(self, job: Job) -> bool:
        return True

    def reports(self, job: Job, rank: int | None, after: int) -> list[Report]:
        return []

    def forget(self, job: Job) -> None:
        """Nothing was kept."""

    def on_change(self, told: Callable[[str], None]) -> None:
        """Nothing ever changes."""
