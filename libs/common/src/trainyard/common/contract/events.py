"""Every event of a job's and a conversion's life, and of the devices. Those of nodes stand in `nodes`.

`kind` is the last token of the NATS subject and of the CloudEvents type. `discriminator` tells two events of one kind
and one job apart; together they make the event's id, so an append that is sent twice is stored once.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.event import Event
from trainyard.common.contract.jobs import JobSpec
from trainyard.common.contract.model import Fact
from trainyard.common.contract.nodes import NODE_EVENTS, Avoided, Blamed
from trainyard.common.lifecycle.states import EndReason


class JobEvent(Event):
    entity: ClassVar[Literal["job"]] = "job"
    job_id: str

    def entity_id(self) -> str:
        return self.job_id


class AttemptEvent(JobEvent):
    """An event of one attempt; attempts count from 1."""

    attempt: int = 1

    def discriminator(self) -> str:
        return str(self.attempt)


class JobSubmitted(JobEvent):
    kind: ClassVar[str] = "submitted"
    spec: JobSpec
    owner: str = "unknown"
    retry_of: str | None = None
    spec_digest: str = ""
    """SHA-256 of the canonical spec: an Idempotency-Key that comes again with another body is told so."""

    def discriminator(self) -> str:
        return self.spec_digest[:16]


class Reason(Fact):
    """One step of a decision, for people: `passed` tells whether this rule let the candidate through."""

    rule: str
    text: str
    passed: bool = True
    details: tuple[str, ...] = ()
    """What it said of single candidates."""


class RoleResolution(Fact):
    """The accelerators that one role gets."""

    accelerator: str = "cpu"
    """Kind: `gpu`, `npu` …; `cpu` where none was asked for."""
    product: str | None = None
    """Of the accelerator, from the hardware registry; None: any of its kind will do."""
    resources: dict[str, float] = {}
    """What a pod asks for, for one process: `nvidia.com/gpu: 2`."""
    node_labels: dict[str, str] = {}
    """Labels that a node must bear, where the product was chosen: label → product as the registry has it."""
    visible: str | None = None
    """The variable that tells a process which accelerators are its own."""


class Resolution(RoleResolution):
    """What the matrix chose. The accelerators that stand here are those of the first role that asks for any."""

    image: str
    """Name in the image catalogue; `host` is the launcher's own interpreter."""
    framework_version: str | None = None
    roles: dict[str, RoleResolution] = {}
    """What each role gets, in a job of several; empty for a job of one."""
    reference: str | None = None
    """The container image with its digest; None until it was pushed and pinned."""
    notes: tuple[str, ...] = ()
    """What works with limits, and what nobody knows."""
    reasons: tuple[Reason, ...] = ()


class JobResolved(JobEvent):
    kind: ClassVar[str] = "resolved"
    spec: JobSpec
    owner: str = "unknown"
    resolution: Resolution


class JobRejected(JobEvent):
    kind: ClassVar[str] = "rejected"
    message: str
    nearest: tuple[str, ...] = ()
    """Changes that would make it fit, nearest first."""
    reasons: tuple[Reason, ...] = ()


class JobQueued(AttemptEvent):
    """It waits; told again while its image is being built."""

    kind: ClassVar[str] = "queued"
    message: str
    number: int = 0
    """Counts the times that it was told in this attempt, from 0."""
    fraction: float | None = None
    """How much of the image is there, 0 to 1."""

    def discriminator(self) -> str:
        return f"{super().discriminator()}.{self.number}" if self.number else super().discriminator()


class JobStarting(AttemptEvent):
    kind: ClassVar[str] = "starting"
    backend: str
    node: str
    devices: tuple[tuple[str, ...], ...] = ()
    """Rank → ids of the accelerators that it gets; empty: none was asked for, or the cluster decides."""
    avoids: tuple[Avoided, ...] = ()
    """Nodes that its pods are not placed on."""
    message: str | None = None
    """Which nodes it would avoid, and does not, since nothing else could take it."""
    replicas: dict[str, int] = {}
    """Role → replicas of this attempt; empty: as the job file has it."""


class JobPending(AttemptEvent):
    """Why an attempt that has been placed does not run yet (a queue, a node, an image), or one that runs does not have the
    size yet that was asked for."""

    kind: ClassVar[str] = "pending"
    message: str
    reason: EndReason | None = None
    """What it will end for if it stays so; absent: it is only a matter of time."""

    def discriminator(self) -> str:
        return f"{super().discriminator()}.{hashlib.sha256(self.message.encode()).hexdigest()[:12]}"


class RankInfo(Fact):
    rank: int
    role: str = "worker"
    replica: int = 0
    node: str = ""
    pid: int | None = None
    devices: tuple[str, ...] = ()
    """Accelerators that are its own."""


class JobRunning(AttemptEvent):
    kind: ClassVar[str] = "running"
    ranks: tuple[RankInfo, ...] = ()


class JobProgress(AttemptEvent):
    """The newest report of a rank; reports are thinned to about one a second and the last is never dropped."""

    kind: ClassVar[str] = "progress"
    number: int
    """Counts the progress events of an attempt, from 1."""
    rank: int = 0
    epoch: int | None = None
    epochs: int | None = None
    step: int | None = None
    steps: int | None = None
    metrics: dict[str, float | None] = {}
    """loss, accuracy, samples_per_second …; None where the value was not finite."""

    def discriminator(self) -> str:
        return f"{self.attempt}.{self.number}"


class Ending(Fact):
    """How one rank ended."""

    rank: int
    exit_code: int | None = None
    signal: int | None = None
    reason: EndReason = EndReason.COMPLETED
    message: str = ""
    max_rss: int | None = None
    """Peak resident bytes of the largest process of the rank."""
    cpu_seconds: float | None = None
    node: str = ""
    """Where it was; empty: on the machine that the attempt was started on."""


class JobRestarting(AttemptEvent):
    """`attempt` is the one that ended; the next is one higher."""

    kind: ClassVar[str] = "restarting"
    reason: EndReason
    message: str
    budget: str
    budget_left: int
    used: dict[str, int] = {}
    """What each budget has paid so far, this restart included."""
    endings: tuple[Ending, ...] = ()
    log_tail: tuple[str, ...] = ()
    """The last lines of the rank that is to blame."""
    blamed: tuple[Blamed, ...] = ()
    """The nodes to blame, where infrastructure is; those whose ranks only ended with the others are not."""
    allowed: tuple[str, ...] = ()
    """Nodes that the job no longer avoids from now on."""


class JobResized(JobEvent):
    """A wish that the launcher brings about. What can never be had it takes back, with another event of this kind."""

    kind: ClassVar[str] = "resized"
    number: int = 1
    """Counts the job's resizes, from 1."""
    role: str
    before: int
    """Replicas that were asked for until now."""
    replicas: int
    by: str
    message: str = ""
    roles: dict[str, int] = {}
    """Role → replicas, of every role that was ever resized: the last of these events tells them all."""

    def discriminator(self) -> str:
        # Of two different wishes at once the log must not take the second for a repetition of the first.
        return f"{self.number}.{self.role}.{self.replicas}"


class JobSuspending(AttemptEvent):
    """A wish: the processes get SIGTERM and their grace; what they saved is where the job will go on."""

    kind: ClassVar[str] = "suspending"
    by: str
    message: str = ""


class JobSuspended(AttemptEvent):
    """Its processes have ended and what it held is free. `queued` with the next attempt resumes it."""

    kind: ClassVar[str] = "suspended"
    by: str
    message: str = ""
    endings: tuple[Ending, ...] = ()


class JobCancelling(JobEvent):
    kind: ClassVar[str] = "cancelling"
    by: str
    message: str = ""


class JobSucceeded(AttemptEvent):
    kind: ClassVar[str] = "succeeded"
    outputs: str | None = None
    """Folder (local backend) or URI of what the job wrote."""
    seconds: float = 0.0
    endings: tuple[Ending, ...] = ()


class JobFailed(AttemptEvent):
    kind: ClassVar[str] = "failed"
    reason: EndReason
    message: str
    seconds: float = 0.0
    endings: tuple[Ending, ...] = ()
    log_tail: tuple[str, ...] = ()
    blamed: tuple[Blamed, ...] = ()


class JobCancelled(AttemptEvent):
    kind: ClassVar[str] = "cancelled"
    message: str = ""
    endings: tuple[Ending, ...] = ()


class JobLost(AttemptEvent):
    kind: ClassVar[str] = "lost"
    message: str
    endings: tuple[Ending, ...] = ()
    blamed: tuple[Blamed, ...] = ()


class ConversionEvent(Event):
    entity: ClassVar[Literal["conversion"]] = "conversion"
    conversion_id: str
    job_id: str | None = None

    def entity_id(self) -> str:
        return self.conversion_id


class ConversionRequested(ConversionEvent):
    kind: ClassVar[str] = "requested"
    spec: ConversionSpec
    owner: str = "unknown"
    spec_digest: str = ""

    def discriminator(self) -> str:
        return self.spec_digest[:16]


class ConversionProgress(ConversionEvent):
    kind: ClassVar[str] = "progress"
    number: int
    attempt: int = 1
    step: str
    message: str = ""
    fraction: Annotated[float, Field(ge=0, le=1)] = 0.0

    def discriminator(self) -> str:
        return f"{self.attempt}.{self.number}"


class ConversionSucceeded(ConversionEvent):
    kind: ClassVar[str] = "succeeded"
    name: str
    onnx: str | None = None
    targets: dict[str, str] = {}
    """Folder of each other format, by its name."""
    repository: str | None = None
    report: str
    report_html: str | None = None
    max_abs_error: float | None = None
    batch_sizes: tuple[int, ...] = ()
    served: dict[str, Any] = {}
    """What the serving check asked and got: `label`, `predicted`, `max_abs_error`, `endpoint`."""
    seconds: float = 0.0


class ConversionFailed(ConversionEvent):
    kind: ClassVar[str] = "failed"
    reason: str
    message: str
    report: str | None = None
    seconds: float = 0.0


class Device(Fact):
    """One accelerator or the CPU of a node. What a driver does not support is absent, never 0."""

    id: str
    kind: str
    model: str = ""
    utilisation: float | None = None
    """0 to 1."""
    memory_used: int | None = None
    memory_total: int | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None


class Usage(Fact):
    """What one job uses on one node at this moment."""

    job_id: str
    cpu_cores: float | None = None
    memory_used: int | None = None
    processes: int = 0


class DeviceSampled(Event):
    entity: ClassVar[Literal["device"]] = "device"
    kind: ClassVar[str] = "sampled"
    node: str
    at: float
    """Unix seconds."""
    devices: tuple[Device, ...] = ()
    usage: tuple[Usage, ...] = ()

    def entity_id(self) -> str:
        return self.node

    def discriminator(self) -> str:
        return f"{self.at:.3f}"


JOB_EVENTS: dict[str, type[JobEvent]] = {
    cls.kind: cls
    for cls in (
        JobSubmitted, JobResolved, JobRejected, JobQueued, JobStarting, JobPending, JobRunning, JobProgress, JobRestarting,
        JobResized, JobSuspending, JobSuspended, JobCancelling, JobSucceeded, JobFailed, JobCancelled, JobLost,
    )
}
CONVERSION_EVENTS: dict[str, type[ConversionEvent]] = {
    cls.kind: cls for cls in (ConversionRequested, ConversionProgress, ConversionSucceeded, ConversionFailed)
}
DEVICE_EVENTS: dict[str, type[Event]] = {DeviceSampled.kind: DeviceSampled}
EVENTS: dict[str, dict[str, type[Any]]] = {
    "job": dict(JOB_EVENTS),
    "conversion": dict(CONVERSION_EVENTS),
    "device": dict(DEVICE_EVENTS),
    "node": dict(NODE_EVENTS),
}
