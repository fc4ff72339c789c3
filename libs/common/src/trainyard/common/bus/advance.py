"""Moving a job: read where it stands, decide, append, and on a lost race begin again.

Every service that writes a job's events on somebody's request goes through here, so the optimistic rule stands once.
"""

from __future__ import annotations

from collections.abc import Callable

from trainyard.common.bus.port import EventLog
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import JobEvent
from trainyard.common.errors import NotFound, StaleSequence, Unavailable
from trainyard.common.lifecycle.transitions import Head, fold, step

Decide = Callable[[Head, dict[str, Recorded[JobEvent]]], JobEvent | None]
"""Gets the head and the last event of each kind; gives the event to append, or None to leave the job as it is."""

_ATTEMPTS = 20


async def read_head(log: EventLog, job_id: str) -> tuple[Head, dict[str, Recorded[JobEvent]]]:
    """Where a job stands, from the log itself. Raises NotFound."""
    recorded = await log.latest("job", job_id)
    if not recorded:
        raise NotFound(f"there is no job {job_id}")
    return fold(job_id, ((item.seq, item.event) for item in recorded)), {item.event.kind: item for item in recorded}


async def advance(log: EventLog, job_id: str, decide: Decide) -> tuple[Head, JobEvent | None]:
    """The head afterwards, and the event that was appended (None: `decide` wanted nothing).

    Raises NotFound for an unknown job, IllegalTransition for a decision that the table forbids, and whatever `decide`
    raises.
    """
    for _ in range(_ATTEMPTS):
        head, last = await read_head(log, job_id)
        event = decide(head, last)
        if event is None:
            return head, None
        step(head, event)
        try:
            seq = await log.append(event, after=head.seq)
        except StaleSequence:
            continue
        after, _effects = step(head, event, seq)
        return after, event
    raise Unavailable(f"job {job_id} is being changed by others all the time; try again")
