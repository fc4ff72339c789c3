"""Another size for a job: whether it may be asked for, and the event that asks for it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import ResizeJob
from trainyard.common.contract.events import JobEvent, JobResized
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.resizing import resized, role_of, sized, sizes
from trainyard.common.contract.templates import JobLimits
from trainyard.common.errors import Conflict, InvalidInput, Problem
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head, allows
from trainyard.job_api.core import limits as bounds

Last = Mapping[str, Recorded[JobEvent]]
"""Kind → the last event of it."""
Limits = Sequence[tuple[str, JobLimits]]


def spec_of(last: Last) -> JobSpec:
    """What the job is to be by now: as it was submitted, at the size that was asked for last."""
    submitted: Any = last["submitted"].event
    asked = last.get(JobResized.kind)
    spec: JobSpec = submitted.spec
    return sized(spec, asked.event.roles) if asked is not None and isinstance(asked.event, JobResized) else spec


def wish(head: Head, last: Last, command: ResizeJob, by: str, limits: Limits = ()) -> JobResized | None:
    """None: it is asked for already. Raises Conflict where the job's state bears no resize, InvalidInput for a size or a role
    that cannot be."""
    if not allows(head, JobResized.kind):
        raise Conflict(f"job {head.job_id} cannot be resized: {_why(head)}")
    spec = spec_of(last)
    role = role_of(spec, command.role)
    before = sizes(spec)[role]
    after = resized(spec, role, command.replicas)
    if command.replicas == before:
        return None
    if command.replicas > before:  # who wants less may have less, whatever was allowed when it was submitted
        beyond = [what for what, _ in bounds.beyond(after, limits)]
        if beyond:
            raise InvalidInput([Problem(what, "replicas") for what in beyond])
    asked: Any = last.get(JobResized.kind)
    known = dict(asked.event.roles) if asked is not None else {}
    return JobResized(
        job_id=head.job_id,
        number=asked.event.number + 1 if asked is not None else 1,
        role=role,
        before=before,
        replicas=command.replicas,
        by=by,
        message=command.message or f"{by} asks for {command.replicas} × {role} instead of {before}",
        roles={**known, role: command.replicas},
    )


def _why(head: Head) -> str:
    if head.terminal and head.state is not None:
        return f"it has ended already ({head.state.value}); `yard retry` begins a new one"
    if head.state is State.SUBMITTED:
        return "the matrix has not answered yet; try again in a moment"
    return f"it is {head.state.value if head.state is not None else 'unknown'}"
