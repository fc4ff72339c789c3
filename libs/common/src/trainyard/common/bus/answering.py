"""Commands over core NATS: a CloudEvent in a request, the answer in the reply, with the status that HTTP would give."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError
from pydantic import ValidationError

from trainyard.common import ids
from trainyard.common.bus.context import traceparent
from trainyard.common.bus.port import CommandHandler, Request
from trainyard.common.contract import problems, subjects
from trainyard.common.contract.commands import COMMANDS, Answer, Command
from trainyard.common.contract.envelope import Envelope, from_message, to_headers
from trainyard.common.contract.explain import nearest
from trainyard.common.errors import InvalidInput, TrainyardError, Unavailable

log = structlog.get_logger()

QUEUE = "gateway"
CONCURRENCY = 256
_TRY = 5.0  # seconds one request waits before it is sent again
ANSWER_TYPE = f"{subjects.TYPE_PREFIX}.answer.{subjects.VERSION}"


def type_of(kind: str) -> str:
    return f"{subjects.TYPE_PREFIX}.command.{kind}.{subjects.VERSION}"


async def ask(client: Client, source: str, command: Command, *, timeout: float, request_id: str | None) -> Answer:
    """Raises Unavailable when nobody answered within `timeout` seconds, InvalidInput for more than fits into a message.
    The id stays the same through all tries, so a request whose answer was lost is not carried out twice."""
    envelope = Envelope(
        id=request_id or ids.new_job_id(),
        source=source,
        type=type_of(command.kind),
        data=command.dump(),
        traceparent=traceparent.get(),
    )
    deadline = asyncio.get_running_loop().time() + timeout
    while True:
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise Unavailable(f"no service answered {command.kind} within {timeout:g} s")
        try:
            reply = await client.request(
                subjects.command(command.kind), envelope.data, timeout=min(left, _TRY), headers=to_headers(envelope)
            )
            return Answer.parse(reply.data)
        except MaxPayloadError:
            raise InvalidInput.one(
                f"{command.kind} has {len(envelope.data)} bytes, at most {client.max_payload} fit into a message",
                hint="put data into files",
            ) from None
        except (NoRespondersError, TimeoutError, NatsError):
            await asyncio.sleep(min(0.2, max(0.0, left)))


class Responder:
    """Answers as one of a group. Implements port.Running."""

    def __init__(self, client: Client, source: str, handlers: Mapping[str, CommandHandler]) -> None:
        self._client = client
        self._source = source
        self._handlers = handlers
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscriptions: list[Subscription] = []
        self._room = asyncio.Semaphore(CONCURRENCY)

    async def start(self) -> None:
        # A whole resource: a command that it does not know is answered in words, too.
        for subject in sorted({subjects.commands_of(kind) for kind in self._handlers}):
            self._subscriptions.append(await self._client.subscribe(subject, queue=QUEUE, cb=self._take))
        # Answered requests must not be lost between here and the caller's first one.
        await self._client.flush()

    async def stop(self) -> None:
        for subscription in self._subscriptions:
            if not self._client.is_closed:
                with contextlib.suppress(NatsError):
                    await subscription.drain()  # type: ignore[no-untyped-call]
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, message: Msg) -> None:
        await self._room.acquire()
        task = asyncio.create_task(self._reply(message))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room.release()

    async def _reply(self, message: Msg) -> None:
        answer = await self._answer(message)
        if not message.reply:
            log.warning("command without a reply subject", subject=message.subject, status=answer.status)
            return
        envelope = Envelope(id=ids.new_job_id(), source=self._source, type=ANSWER_TYPE, data=answer.dump())
        with contextlib.suppress(NatsError):  # the caller asks again
            await self._client.publish(message.reply, envelope.data, headers=to_headers(envelope))

    async def _answer(self, message: Msg) -> Answer:
        try:
            request = parse(message.subject, message.headers, message.data)
            token = traceparent.set(request.traceparent)
            try:
                return await self._handlers[request.command.kind](request)
            finally:
                traceparent.reset(token)
        except TrainyardError as error:
            body = problems.of_error(error)
        except Exception as error:
            log.error("command failed", subject=message.subject, exc_info=error)
            body = problems.problem(500, "an unexpected error, which is in the log of the gateway")
        return Answer(status=body["status"], body=body)


def parse(subject: str, headers: Mapping[str, str] | None, payload: bytes) -> Request:
    """Raises InvalidInput in words for what is not a command of ours."""
    kind = subject.removeprefix(f"{subjects.PREFIX}.command.")
    if kind not in COMMANDS:
        raise InvalidInput.one(f"{kind!r} is not a command", hint=nearest(kind, list(COMMANDS)))
    envelope = from_message(headers, payload)
    if envelope.type != type_of(kind):
        raise InvalidInput.one(f"{envelope.type!r} came on {subject}", "ce-type", f"must be {type_of(kind)}")
    try:
        command = COMMANDS[kind].parse(envelope.data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise InvalidInput.one(fault["msg"], ".".join(str(part) for part in fault["loc"])) from error
    return Request(command, envelope.id, envelope.source, envelope.traceparent)
