"""What may be asked of the gateway, each as a plain function, over HTTP and as NATS commands alike.

A job exists from the moment its `submitted` event is durable; only then is anything answered. The same request twice
(an Idempotency-Key, or a CloudEvent that is delivered again) finds the event of the first one and answers the same job.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from trainyard.common import ids
from trainyard.common.bus.advance import Decide, advance, read_head
from trainyard.common.bus.port import Request
from trainyard.common.clock import rfc3339
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import (
    Answer,
    AvoidNode,
    CancelJob,
    Convert,
    DeleteTemplate,
    ForgiveNode,
    PublishTemplate,
    RenderTemplate,
    ResizeJob,
    ResumeJob,
    RetryJob,
    SubmitJob,
    SuspendJob,
)
from trainyard.common.contract.events import (
    ConversionRequested,
    JobCancelling,
    JobEvent,
    JobQueued,
    JobStarting,
    JobSubmitted,
    JobSuspending,
)
from trainyard.common.contract.resizing import sizes
from trainyard.common.contract.views import ConversionView, JobView
from trainyard.common.errors import Conflict, InvalidInput, NotFound, StaleSequence
from trainyard.common.lifecycle.states import State
from trainyard.common.lifecycle.transitions import Head, allows
from trainyard.common.runtime.tracing import span
from trainyard.job_api import nodes, templates
from trainyard.job_api.core import resizing, submission
from trainyard.job_api.gateway import Gateway

CREATED, OK, ACCEPTED = 201, 200, 202


async def submit(gateway: Gateway, document: Any, owner: str, key: str | None) -> tuple[int, JobView]:
    """201 and the new job; 200 and the job that the same key made before. Raises InvalidInput and leaves nothing."""
    event = submission.job(document, owner=owner, key=key)
    return await _store(gateway, event.model_copy(update={"spec": await gateway.workdirs.settle(event.spec)}))


async def retry(gateway: Gateway, job_id: str, owner: str, key: str | None) -> tuple[int, JobView]:
    """A new job with the spec of one that has ended, at the size that it was to have by then. Raises NotFound, or Conflict
    while it still runs."""
    head, last = await read_head(gateway.log, ids.parse_job_id(job_id))
    if not head.terminal:
        raise Conflict(f"job {head.job_id} has not ended (it is {_word(head)}); cancel it first or wait")
    document = resizing.spec_of(last).model_dump(mode="json", exclude_none=True)
    event = submission.job(document, owner=owner, key=key, retry_of=head.job_id)
    return await _store(gateway, event.model_copy(update={"spec": await gateway.workdirs.settle(event.spec)}))


async def cancel(gateway: Gateway, job_id: str, owner: str, message: str = "") -> tuple[int, JobView]:
    """202 once the wish is durable; the launcher ends the processes. Again: the same answer. Conflict when ended."""

    def decide(head: Head, _: dict[str, Recorded[JobEvent]]) -> JobEvent | None:
        if head.state in {State.CANCELLING, State.CANCELLED}:
            return None
        if head.terminal:
            raise Conflict(f"job {head.job_id} has ended already: it {_word(head)}")
        return JobCancelling(job_id=head.job_id, by=owner, message=message)

    return await _moved(gateway, job_id, decide)


async def suspend(gateway: Gateway, job_id: str, owner: str, message: str = "") -> tuple[int, JobView]:
    """202 once the wish is durable; the launcher ends the processes. Again: the same answer. Conflict when ended."""

    def decide(head: Head, _: dict[str, Recorded[JobEvent]]) -> JobEvent | None:
        if head.state in {State.SUSPENDING, State.SUSPENDED}:
            return None
        if not allows(head, JobSuspending.kind):
            raise Conflict(f"job {head.job_id} cannot be suspended: it is {_word(head)}")
        return JobSuspending(job_id=head.job_id, attempt=max(1, head.attempt), by=owner, message=message)

    return await _moved(gateway, job_id, decide)


async def resume(gateway: Gateway, job_id: str, owner: str, message: str = "") -> tuple[int, JobView]:
    """202 once it is in the queue again. Conflict when it is not suspended, or not yet."""

    def decide(head: Head, last: dict[str, Recorded[JobEvent]]) -> JobEvent | None:
        if head.state is State.SUSPENDING:
            raise Conflict(f"job {head.job_id} is still being suspended: try again in a moment")
        if head.state is not State.SUSPENDED:
            raise Conflict(f"job {head.job_id} is not suspended: it is {_word(head)}")
        words = f"resumed by {owner}" + (f": {message}" if message else "")
        attempt = head.attempt + 1 if JobStarting.kind in last else head.attempt
        return JobQueued(job_id=head.job_id, attempt=attempt, message=words)

    return await _moved(gateway, job_id, decide)


async def resize(gateway: Gateway, command: ResizeJob, owner: str) -> tuple[int, JobView]:
    """202 once the wish is durable; 200 where that size is asked for already. Conflict when ended."""
    job_id = ids.parse_job_id(command.job_id)
    _, known = await read_head(gateway.log, job_id)
    limits = await templates.limits_of(gateway, resizing.spec_of(known).labels)
    asked: dict[str, int] = {}

    def decide(head: Head, last: dict[str, Recorded[JobEvent]]) -> JobEvent | None:
        event = resizing.wish(head, last, command, owner, limits)
        asked.update({**sizes(resizing.spec_of(last)), **(event.roles if event is not None else {})})
        return event

    head, event = await advance(gateway.log, job_id, decide)
    view = await find_job(gateway, job_id)
    changes = {"state": head.state, "last_seq": max(head.seq, view.last_seq), "replicas": asked}
    return OK if event is None else ACCEPTED, view.model_copy(update=changes)


async def _moved(gateway: Gateway, job_id: str, decide: Decide) -> tuple[int, JobView]:
    head, _ = await advance(gateway.log, ids.parse_job_id(job_id), decide)
    view = await find_job(gateway, head.job_id)
    return ACCEPTED, view.model_copy(update={"state": head.state, "last_seq": max(head.seq, view.last_seq)})


async def convert(gateway: Gateway, document: Any, owner: str, key: str | None) -> tuple[int, ConversionView]:
    """A conversion on its own; the converter takes it from the log."""
    event = submission.conversion(document, owner=owner, key=key)
    try:
        seq = await gateway.log.append(event, after=0)
    except StaleSequence:
        await _must_be_the_same(gateway, "conversion", event.conversion_id, "requested", event.spec_digest)
        return OK, await find_conversion(gateway, event.conversion_id)
    return CREATED, gateway.reads.conversion(event.conversion_id) or _fresh_conversion(gateway, event, seq)


async def find_job(gateway: Gateway, job_id: str) -> JobView:
    """From the read model, or from the log itself in the milliseconds before the read model knows it."""
    view = gateway.reads.job(ids.parse_job_id(job_id))
    if view is not None:
        return view
    _, last = await read_head(gateway.log, ids.parse_job_id(job_id))
    submitted: Any = last["submitted"]
    return _fresh(submitted.event, submitted.seq, submitted.time)


async def find_conversion(gateway: Gateway, conversion_id: str) -> ConversionView:
    view = gateway.reads.conversion(ids.parse_conversion_id(conversion_id))
    if view is not None:
        return view
    for recorded in await gateway.log.latest("conversion", ids.parse_conversion_id(conversion_id)):
        if isinstance(recorded.event, ConversionRequested):
            return _fresh_conversion(gateway, recorded.event, recorded.seq)
    raise NotFound(f"there is no conversion {conversion_id}")


async def _store(gateway: Gateway, event: JobSubmitted) -> tuple[int, JobView]:
    known = gateway.reads.job(event.job_id)
    if known is None:
        with span("job.submit", job_id=event.job_id):
            try:
                seq = await gateway.log.append(event, after=0)
            except StaleSequence:  # made by the same key, and the read model does not show it yet
                known = await find_job(gateway, event.job_id)
            else:
                return CREATED, _fresh(event, seq, rfc3339(gateway.clock.now()))
    await _must_be_the_same(gateway, "job", event.job_id, "submitted", event.spec_digest)
    return OK, known


async def _must_be_the_same(gateway: Gateway, entity: str, entity_id: str, kind: str, digest: str) -> None:
    """A key stands for one request. The digest is part of the event's id, so another body is never taken for a
    repetition by the log; it comes here."""
    for recorded in await gateway.log.latest(entity, entity_id):
        if recorded.event.kind == kind and recorded.event.spec_digest != digest:
            raise InvalidInput.one(
                "this key was used for another request before", "Idempotency-Key", "use a new key for a new request"
            )


def _fresh(event: JobSubmitted, seq: int, time: str) -> JobView:
    return JobView(
        job_id=event.job_id,
        name=event.spec.name,
        project=event.spec.project,
        framework=event.spec.framework.name,
        owner=event.owner,
        labels=event.spec.labels,
        state=State.SUBMITTED,
        submitted_at=time,
        retry_of=event.retry_of,
        spec=event.spec.model_dump(mode="json", exclude_none=True),
        replicas=sizes(event.spec),
        last_seq=seq,
    )


def _fresh_conversion(gateway: Gateway, event: ConversionRequested, seq: int) -> ConversionView:
    return ConversionView(
        conversion_id=event.conversion_id,
        job_id=event.job_id,
        name=event.spec.convert.name or event.conversion_id,
        owner=event.owner,
        state="requested",
        requested_at=rfc3339(gateway.clock.now()),
        last_seq=seq,
    )


def _word(head: Head) -> str:
    return head.state.value if head.state else "unknown"


# Commands: the same functions for whoever speaks NATS. The owner is the CloudEvent's source: a system, not a person.
# source + id name a CloudEvent once and for all, so they serve as the key where the command brings none.


def _key(request: Request, given: str | None) -> str:
    return given or f"{request.source} {request.id}"


async def on_submit(gateway: Gateway, request: Request, command: SubmitJob) -> tuple[int, Any]:
    owner = command.owner or request.source
    return await submit(gateway, command.spec, owner, _key(request, command.idempotency_key))


async def on_cancel(gateway: Gateway, request: Request, command: CancelJob) -> tuple[int, Any]:
    return await cancel(gateway, command.job_id, request.source, command.message)


async def on_suspend(gateway: Gateway, request: Request, command: SuspendJob) -> tuple[int, Any]:
    return await suspend(gateway, command.job_id, request.source, command.message)


async def on_resume(gateway: Gateway, request: Request, command: ResumeJob) -> tuple[int, Any]:
    return await resume(gateway, command.job_id, request.source, command.message)


async def on_resize(gateway: Gateway, request: Request, command: ResizeJob) -> tuple[int, Any]:
    return await resize(gateway, command, request.source)


async def on_retry(gateway: Gateway, request: Request, command: RetryJob) -> tuple[int, Any]:
    return await retry(gateway, command.job_id, request.source, _key(request, command.idempotency_key))


async def on_convert(gateway: Gateway, request: Request, command: Convert) -> tuple[int, Any]:
    return await convert(gateway, command.spec, request.source, _key(request, command.idempotency_key))


HANDLERS: dict[str, Callable[[Gateway, Request, Any], Awaitable[tuple[int, Any]]]] = {
    SubmitJob.kind: on_submit,
    CancelJob.kind: on_cancel,
    SuspendJob.kind: on_suspend,
    ResumeJob.kind: on_resume,
    ResizeJob.kind: on_resize,
    RetryJob.kind: on_retry,
    Convert.kind: on_convert,
    PublishTemplate.kind: templates.on_publish,
    DeleteTemplate.kind: templates.on_delete,
    RenderTemplate.kind: templates.on_render,
    AvoidNode.kind: nodes.on_avoid,
    ForgiveNode.kind: nodes.on_forgive,
}


def bound(gateway: Gateway) -> dict[str, Callable[[Request], Awaitable[Answer]]]:
    """The table as the bus serves it."""

    def bind(handler: Callable[[Gateway, Request, Any], Awaitable[tuple[int, Any]]]) -> Any:
        async def answer(request: Request) -> Answer:
            status, view = await handler(gateway, request, request.command)
            return Answer(status=status, body=view.model_dump(mode="json", exclude_none=True))

        return answer

    return {kind: bind(handler) for kind, handler in HANDLERS.items()}
