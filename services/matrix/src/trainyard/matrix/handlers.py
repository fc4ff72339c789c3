"""What the matrix does with events: each submitted job gets its answer exactly once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Self

from trainyard.common.bus.advance import advance
from trainyard.common.bus.port import EventLog
from trainyard.common.clock import SystemClock
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import JobEvent, JobRejected, JobResolved, JobSubmitted, Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.errors import StaleSequence
from trainyard.common.lifecycle.states import State
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.facts import NOTHING_KNOWN, Facts
from trainyard.matrix.core.resolve import NO_INVENTORY, Rejection, resolve
from trainyard.matrix.ports import Images, Nodes


@dataclass(frozen=True, slots=True)
class Matrix:
    log: EventLog
    catalogue: Catalogue
    nodes: Nodes | None = None
    today: Callable[[], date] = lambda: SystemClock().now().date()

    @classmethod
    def of(cls, log: EventLog, images: Images, facts: Facts = NOTHING_KNOWN, nodes: Nodes | None = None) -> Self:
        """With every image that there is, indexed against the facts before the first job comes."""
        return cls(log, Catalogue.of(images.all(), facts), nodes)

    def resolve(self, spec: JobSpec, *, anywhere: bool = False) -> Resolution | Rejection:
        """`anywhere`: whatever nodes this yard has."""
        inventory = NO_INVENTORY if anywhere or self.nodes is None else self.nodes.inventory()
        return resolve(spec, self.catalogue, inventory)


async def on_submitted(matrix: Matrix, recorded: Recorded[JobSubmitted]) -> None:
    answer = _answer(recorded.event, matrix.resolve(recorded.event.spec))
    try:
        await matrix.log.append(answer, after=recorded.seq)
    except StaleSequence:
        # Cancelled meanwhile, or answered before a crash: only a job that still waits is answered.
        await advance(matrix.log, answer.job_id, lambda head, _: answer if head.state is State.SUBMITTED else None)


def _answer(event: JobSubmitted, outcome: Resolution | Rejection) -> JobEvent:
    if isinstance(outcome, Rejection):
        return JobRejected(
            job_id=event.job_id, message=_sentence(outcome), nearest=outcome.nearest, reasons=outcome.reasons
        )
    return JobResolved(job_id=event.job_id, spec=event.spec, owner=event.owner, resolution=outcome)


def _sentence(rejection: Rejection) -> str:
    nearest = f". Nearest: {'; '.join(rejection.nearest)}" if rejection.nearest else ""
    return f"{rejection.message}{nearest}"


HANDLERS: dict[type[JobEvent], Callable[[Matrix, Recorded[Any]], Awaitable[None]]] = {JobSubmitted: on_submitted}
