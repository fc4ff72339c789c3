"""What services may ask of the bus. `bus.nats` and `bus.memory` pass one suite, `libs/common/tests/bus_contract`.

The log is the truth: a service appends with the sequence that it has seen last of that job, and a projection follows.
Work that must be done once by somebody (resolve this job, convert that model) is consumed with an explicit ack.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from trainyard.common.bus.keyvalue import KeyValue
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import Answer, Command
from trainyard.common.contract.event import Event

EventHandler = Callable[[Recorded[Any]], Awaitable[None]]
CommandHandler = Callable[["Request"], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Events in log order. `last` is the sequence up to which the follower has now seen everything that it filters for;
    store it with the projection and follow again from there. `caught_up`: nothing more was waiting."""

    events: tuple[Recorded[Any], ...]
    last: int
    caught_up: bool


@dataclass(frozen=True, slots=True)
class Subscription:
    """A durable pull consumer: every message that matches is handled by one member of the group, at least once."""

    durable: str
    filters: tuple[str, ...]  # subjects, see contract.subjects.of_kind
    concurrency: int = 32
    ack_wait: float = 30.0  # seconds; the bus says in-progress for a handler that takes longer
    max_deliver: int = 6
    backoff: tuple[float, ...] = (1.0, 2.0, 5.0, 15.0, 60.0)  # seconds before delivery 2, 3, …


@dataclass(frozen=True, slots=True)
class Request:
    """A command as it arrived. `source` and `id` are the CloudEvent's; together they name it once and for all."""

    command: Command
    id: str
    source: str
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLetter:
    seq: int  # in the dead-letter stream; what `yard deadletters show` takes
    consumer: str
    reason: str
    subject: str  # where the message came from
    event_seq: int  # its sequence in the event log
    deliveries: int
    time: str  # RFC 3339
    headers: Mapping[str, str]
    payload: bytes


class Running(Protocol):
    """Something that consumes or serves until it is stopped."""

    async def stop(self) -> None:
        """Take no more; wait for what is being handled."""
        ...


class EventLog(Protocol):
    async def identity(self) -> str:
        """Names this very log: another value means that the stream was deleted and made anew, so that a projection
        of the old one must be dropped (NATS: the stream's creation time)."""
        ...

    async def append(self, event: Event, *, after: int) -> int:
        """Store `event` if the last sequence of its entity is `after` (0: it has none yet). Returns its sequence.

        Sending the same event again is harmless: the sequence of the stored one is returned, whether or not the
        server's duplicate window has passed. Raises StaleSequence when another event came first, Unavailable when the
        log did not answer within the retries.
        """
        ...

    async def latest(self, entity: str, entity_id: str) -> list[Recorded[Any]]:
        """The last event of each kind of one entity, by sequence: all that `lifecycle.fold` needs. Empty: unknown."""
        ...

    def history(self, entity: str, entity_id: str, *, after: int = 0) -> AsyncIterator[Recorded[Any]]:
        """Every event of one entity after a sequence, oldest first, up to now."""
        ...

    def follow(self, *, after: int = 0, filters: Sequence[str] = ()) -> AsyncIterator[Batch]:
        """Every matching event after a sequence, in order, without gap or double, for ever (through reconnects).

        `filters` empty: all of the event log. An unreadable message is logged and counted, never raised. An empty batch
        with `caught_up` comes when there is nothing (so that a follower knows it is at the end), at least once.
        """
        ...


class Work(Protocol):
    async def consume(self, subscription: Subscription, handler: EventHandler) -> Running:
        """Start handling. The handler's exceptions decide (see `errors`): return → ack; Retryable → nak with its
        delay; Permanent, UserError → dead letter and term; anything else → nak by back-off, and a dead letter with
        the reason after `max_deliver`. A durable whose configuration differs from `subscription` is updated."""
        ...


class Commands(Protocol):
    async def request(self, command: Command, *, timeout: float = 10.0, request_id: str | None = None) -> Answer:
        """Ask and wait for the answer; retried while no gateway is there to answer, until `timeout` (seconds)."""
        ...

    async def serve(self, handlers: Mapping[str, CommandHandler]) -> Running:
        """Answer the commands of these kinds (`job.submit`, …) as one of a group. The commands of a resource (`job.…`) are
        all answered by the same service. Unreadable requests are answered
        with a problem, UserErrors with theirs, Retryables with 503."""
        ...


class Telemetry(Protocol):
    async def publish(self, event: Event) -> None:
        """Tell whoever listens; may be lost."""
        ...

    def observe(self, subject: str) -> AsyncIterator[Recorded[Any]]:
        """Live events on a subject (wildcards allowed) from now on."""
        ...


class DeadLetters(Protocol):
    async def dead_letters(self, *, limit: int = 100) -> list[DeadLetter]:
        """Newest first."""
        ...

    async def dead_letter(self, seq: int) -> DeadLetter:
        """Raises NotFound."""
        ...

    async def replay(self, seq: int) -> None:
        """Hand the message to its consumer once more, then drop the dead letter. Raises NotFound."""
        ...


class Buckets(Protocol):
    async def keyvalue(self, bucket: str, max_age: float = 0.0) -> KeyValue:
        """The bucket of this name, created where it is missing. `max_age`: seconds after which a key that nobody writes
        again is gone; 0: never."""
        ...


class Bus(EventLog, Work, Commands, Telemetry, DeadLetters, Buckets, Protocol):
    """Everything; what `runtime.run` gives to a service's wiring. Handlers take the small ports."""

    async def connected(self) -> bool: ...

    async def close(self) -> None:
        """Drain: finish what was received, flush what was published."""
        ...
