"""What may be asked of the yard: over HTTP, and as a CloudEvent in a NATS request with the same answer.

A command names its resource, never a service; the gateway that answers it is found by the subject.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.model import Fact


class Command(Fact):
    kind: ClassVar[str]


class SubmitJob(Command):
    """`spec` is a raw job file as JSON: the gateway validates it and answers faults in the caller's words."""

    kind: ClassVar[str] = "job.submit"
    spec: dict[str, Any]
    idempotency_key: str | None = None
    owner: str | None = None
    """For whom a service asks; absent: for itself."""


class CancelJob(Command):
    kind: ClassVar[str] = "job.cancel"
    job_id: str
    message: str = ""


class SuspendJob(Command):
    """End the job's processes for now, and free what it holds."""

    kind: ClassVar[str] = "job.suspend"
    job_id: str
    message: str = ""


class ResumeJob(Command):
    """Put a suspended job back into the queue; it goes on from its checkpoint."""

    kind: ClassVar[str] = "job.resume"
    job_id: str
    message: str = ""


class ResizeJob(Command):
    """Another number of replicas for a job that has not ended."""

    kind: ClassVar[str] = "job.resize"
    job_id: str
    replicas: int
    role: str | None = None
    """Absent: the job's only role, or `worker`."""
    message: str = ""


class RetryJob(Command):
    """A new job with the spec of one that has ended, at the size that it had by then."""

    kind: ClassVar[str] = "job.retry"
    job_id: str
    idempotency_key: str | None = None


class Convert(Command):
    kind: ClassVar[str] = "conversion.request"
    spec: dict[str, Any]
    idempotency_key: str | None = None


class ResolveJob(Command):
    """What the matrix would answer to this job file, without submitting it."""

    kind: ClassVar[str] = "matrix.resolve"
    spec: dict[str, Any]
    anywhere: bool = False
    """Whatever nodes this yard has."""


class ShowMatrix(Command):
    """The facts of the matrix, of all frameworks or of one."""

    kind: ClassVar[str] = "matrix.show"
    framework: str | None = None


class PublishTemplate(Command):
    """`template` is a raw template as JSON."""

    kind: ClassVar[str] = "template.publish"
    template: dict[str, Any]


class DeleteTemplate(Command):
    """A published version, or all of them."""

    kind: ClassVar[str] = "template.delete"
    name: str
    version: str | None = None


class RenderTemplate(Command):
    """Gives the job file; submitting it is another command."""

    kind: ClassVar[str] = "template.render"
    name: str
    version: str | None = None
    parameters: dict[str, Any] = {}


class AvoidNode(Command):
    """Let no job begin on a node for a while."""

    kind: ClassVar[str] = "node.avoid"
    node: str
    seconds: Annotated[float, Field(allow_inf_nan=False)] = 21_600.0
    message: str = ""


class ForgiveNode(Command):
    """Let jobs begin on a node again, and forget what it was blamed for."""

    kind: ClassVar[str] = "node.forgive"
    node: str
    message: str = ""


class Answer(Fact):
    """The answer to a command: the HTTP status that the same request gets, and its body."""

    status: int
    body: dict[str, Any]


COMMANDS: dict[str, type[Command]] = {
    cls.kind: cls
    for cls in (
        SubmitJob, CancelJob, SuspendJob, ResumeJob, ResizeJob, RetryJob, Convert, ResolveJob, ShowMatrix, PublishTemplate, DeleteTemplate, RenderTemplate,
        AvoidNode, ForgiveNode,
    )
}  # fmt: skip

__all__ = [
    "COMMANDS",
    "Answer",
    "AvoidNode",
    "CancelJob",
    "Command",
    "ConversionSpec",
    "Convert",
    "DeleteTemplate",
    "ForgiveNode",
    "PublishTemplate",
    "RenderTemplate",
    "ResizeJob",
    "ResolveJob",
    "ResumeJob",
    "RetryJob",
    "ShowMatrix",
    "SubmitJob",
    "SuspendJob",
]
