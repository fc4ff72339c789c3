"""The monitor's memory: jobs, conversions and devices as the events tell them. Pure, bounded, newest kept.

Everything here is rebuilt from the log at a start. Jobs that have ended are kept up to a limit, so the memory does not
grow with the age of the log; a job's curve keeps its last points.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import RULES

MAX_ENDED = 500
MAX_POINTS = 400


@dataclass(slots=True)
class Conversion:
    conversion_id: str
    state: str = "requested"
    step: str = ""
    fraction: float = 0.0
    message: str = ""
    report_html: str | None = None
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Job:
    job_id: str
    name: str
    framework: str
    owner: str
    project: str
    submitted_at: str
    state: State = State.SUBMITTED
    message: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    attempt: int = 0
    restarts: dict[str, Any] = field(default_factory=dict)
    """What each budget has paid, and why the last attempt that ended did; empty: it is at its first."""
    pids: tuple[int, ...] = ()
    progress: dict[str, Any] = field(default_factory=dict)
    curve: list[tuple[float, float]] = field(default_factory=list)
    """(step or epoch, loss)."""
    usage: dict[str, Any] = field(default_factory=dict)
    conversions: dict[str, Conversion] = field(default_factory=dict)


class Fleet:
    """Apply events with `apply`, read `jobs`, `devices`, `counts`. `version` grows with every change."""

    def __init__(self) -> None:
        self.jobs: OrderedDict[str, Job] = OrderedDict()
        self.conversions: OrderedDict[str, Conversion] = OrderedDict()
        """The newest, those without a job included."""
        self.devices: dict[str, events.DeviceSampled] = {}
        self.counts: dict[tuple[str, str], int] = {}
        """(framework, terminal state) → jobs that ended so since the log began."""
        self.version = 0

    def apply(self, recorded: Recorded[Any]) -> None:
        event = recorded.event
        self.version += 1
        if isinstance(event, events.DeviceSampled):
            self._sampled(event)
        elif isinstance(event, events.JobSubmitted):
            self._submitted(recorded)
        elif isinstance(event, events.JobEvent) and event.job_id in self.jobs:
            self._moved(self.jobs[event.job_id], recorded)
        elif isinstance(event, events.ConversionEvent):
            self._converted(event)

    def active(self) -> list[Job]:
        return [job for job in self.jobs.values() if not job.state.terminal]

    def _submitted(self, recorded: Recorded[events.JobSubmitted]) -> None:
        event = recorded.event
        self.jobs[event.job_id] = Job(
            job_id=event.job_id,
            name=event.spec.name,
            framework=event.spec.framework.name,
            owner=event.owner,
            project=event.spec.project,
            submitted_at=recorded.time,
        )

    def _moved(self, job: Job, recorded: Recorded[events.JobEvent]) -> None:
        event = recorded.event
        if isinstance(event, events.JobProgress):
            self._progressed(job, event)
            return
        if isinstance(event, events.JobPending):
            job.message = event.message
        target = RULES[event.kind].target
        if target is None:
            return
        job.state = target
        job.message = getattr(event, "message", "") or ""
        job.attempt = getattr(event, "attempt", job.attempt)
        if isinstance(event, events.JobRestarting):
            job.restarts = event.model_dump(include={"attempt", "message", "used"})
        if isinstance(event, events.JobRunning):
            job.pids = tuple(rank.pid for rank in event.ranks if rank.pid is not None)
            job.started_at = job.started_at or recorded.time
        if target.terminal:
            job.ended_at, job.pids, job.usage = recorded.time, (), {}
            key = (job.framework, target.value)
            self.counts[key] = self.counts.get(key, 0) + 1
            self._forget()

    def _progressed(self, job: Job, event: events.JobProgress) -> None:
        job.progress = event.model_dump(include={"rank", "epoch", "epochs", "step", "steps", "metrics"})
        loss, at = event.metrics.get("loss"), event.step if event.step is not None else event.epoch
        if loss is not None and at is not None:
            job.curve.append((at, loss))
            del job.curve[:-MAX_POINTS]

    def _converted(self, event: events.ConversionEvent) -> None:
        conversion = self.conversions.setdefault(event.conversion_id, Conversion(event.conversion_id))
        if len(self.conversions) > MAX_ENDED:
            self.conversions.popitem(last=False)
        job = self.jobs.get(event.job_id or "")
        if job is not None:
            job.conversions[event.conversion_id] = conversion
        if isinstance(event, events.ConversionProgress):
            conversion.state, conversion.step = "running", event.step
            conversion.fraction, conversion.message = event.fraction, event.message
        elif isinstance(event, events.ConversionSucceeded):
            conversion.state, conversion.fraction, conversion.message = "succeeded", 1.0, ""
            conversion.report_html = event.report_html
            conversion.result = {"max_abs_error": event.max_abs_error, "served": event.served}
        elif isinstance(event, events.ConversionFailed):
            conversion.state, conversion.message = "failed", event.message

    def _sampled(self, event: events.DeviceSampled) -> None:
        self.devices[event.node] = event
        for usage in event.usage:
            if usage.job_id in self.jobs:
                self.jobs[usage.job_id].usage = usage.model_dump(exclude={"job_id"})

    def _forget(self) -> None:
        ended = [job_id for job_id, job in self.jobs.items() if job.state.terminal]
        for job_id in ended[: max(0, len(ended) - MAX_ENDED)]:
            del self.jobs[job_id]
