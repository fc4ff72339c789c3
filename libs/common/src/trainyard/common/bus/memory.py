"""The bus in memory: one log, no I/O, for unit tests. It passes the same suite as the real one.

Deliveries happen on the event loop; time is the loop's, so back-off is real but short where a test says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from trainyard.common.bus.answering import parse, type_of
from trainyard.common.bus.context import traceparent
from trainyard.common.bus.keyvalue import KeyValue, checked_bucket
from trainyard.common.bus.memory_keyvalue import MemoryKeyValue
from trainyard.common.bus.port import (
    Batch,
    CommandHandler,
    DeadLetter,
    EventHandler,
    Request,
    Running,
    Subscription,
)
from trainyard.common.clock import Clock, SystemClock, rfc3339
from trainyard.common.contract import problems, subjects
from trainyard.common.contract.codec import Recorded, decode, encode
from trainyard.common.contract.commands import Answer, Command
from trainyard.common.contract.envelope import Envelope, to_headers
from trainyard.common.contract.event import Event
from trainyard.common.errors import (
    InvalidInput,
    NotFound,
    Permanent,
    Retryable,
    StaleSequence,
    TrainyardError,
    Unavailable,
    UserError,
)

MAX_PAYLOAD = 2**20 - 4096


@dataclass(frozen=True, slots=True)
class _Message:
    seq: int
    subject: str
    headers: dict[str, str]
    payload: bytes

    def recorded(self) -> Recorded[Any]:
        return decode(self.subject, self.headers, self.payload, self.seq)


class MemoryBus:
    """Implements port.Bus."""

    def __init__(self, source: str = "/trainyard/test", clock: Clock | None = None) -> None:
        self._source = source
        self._clock = clock or SystemClock()
        self._log: list[_Message] = []
        self._changed = asyncio.Condition()
        self._letters: dict[int, DeadLetter] = {}
        self._workers: dict[str, _Worker] = {}
        self._handlers: Mapping[str, CommandHandler] = {}
        self._buckets: dict[str, MemoryKeyValue] = {}
        self._observers: list[tuple[str, asyncio.Queue[Recorded[Any]]]] = []

    async def connected(self) -> bool:
        return True

    async def close(self) -> None:
        for worker in list(self._workers.values()):
            await worker.stop()

    async def identity(self) -> str:
        return f"memory-{id(self)}"

    async def append(self, event: Event, *, after: int) -> int:
        subject, headers, payload = encode(
            event, source=self._source, now=self._clock.now(), traceparent=traceparent.get()
        )
        if len(payload) > MAX_PAYLOAD:
            raise InvalidInput.one(f"{event.event_id()} has {len(payload)} bytes, at most {MAX_PAYLOAD} fit")
        mine = [
            item for item in self._log if matches(subjects.of_entity(event.entity, event.entity_id()), item.subject)
        ]
        if (mine[-1].seq if mine else 0) != after:
            same = [item for item in mine if item.subject == subject]
            if same and same[-1].headers["ce-id"] == event.event_id():
                return same[-1].seq
            raise StaleSequence(f"{event.event_id()} was decided after sequence {after}, but its entity has moved on")
        return await self.put(subject, headers, payload)

    async def put(self, subject: str, headers: dict[str, str], payload: bytes) -> int:
        """A raw message at the end of the log, as another system would write it."""
        message = _Message(len(self._log) + 1, subject, headers, payload)
        self._log.append(message)
        async with self._changed:
            self._changed.notify_all()
        return message.seq

    async def latest(self, entity: str, entity_id: str) -> list[Recorded[Any]]:
        last = {recorded.event.kind: recorded async for recorded in self.history(entity, entity_id)}
        return sorted(last.values(), key=lambda recorded: recorded.seq)

    async def history(self, entity: str, entity_id: str, *, after: int = 0) -> AsyncIterator[Recorded[Any]]:
        for message in list(self._log[after:]):
            if matches(subjects.of_entity(entity, entity_id), message.subject):
                yield message.recorded()

    async def follow(self, *, after: int = 0, filters: Sequence[str] = ()) -> AsyncIterator[Batch]:
        wanted, last = tuple(filters or subjects.EVENT_SUBJECTS), after
        if not self._log[last:]:
            yield Batch((), last, caught_up=True)
        while True:
            new = self._log[last:]
            events = [item for item in new if any(matches(pattern, item.subject) for pattern in wanted)]
            if new:
                last = new[-1].seq
                yield Batch(tuple(_readable(events)), last, caught_up=last == len(self._log))
            async with self._changed:
                if len(self._log) == last:
                    await self._changed.wait()

    async def consume(self, subscription: Subscription, handler: EventHandler) -> Running:
        before = self._workers.get(subscription.durable)
        worker = _Worker(self, subscription, handler, before.position if before else 0)
        self._workers[subscription.durable] = worker
        return worker

    async def request(self, command: Command, *, timeout: float = 10.0, request_id: str | None = None) -> Answer:
        envelope = Envelope(request_id or "1", self._source, type_of(command.kind), command.dump())
        try:
            request: Request = parse(subjects.command(command.kind), to_headers(envelope), envelope.data)
            if command.kind not in self._handlers:
                raise Unavailable(f"no service answered {command.kind} within {timeout:g} s")
            return await self._handlers[command.kind](request)
        except Unavailable:
            raise
        except TrainyardError as error:
            body = problems.of_error(error)
            return Answer(status=body["status"], body=body)

    async def serve(self, handlers: Mapping[str, CommandHandler]) -> Running:
        self._handlers = {**self._handlers, **handlers}
        return _Served(self, handlers)

    def unserve(self, handlers: Mapping[str, CommandHandler]) -> None:
        self._handlers = {kind: found for kind, found in self._handlers.items() if kind not in handlers}

    async def publish(self, event: Event) -> None:
        subject, headers, payload = encode(event, source=self._source, now=self._clock.now())
        for pattern, queue in self._observers:
            if matches(pattern, subject):
                queue.put_nowait(decode(subject, headers, payload))

    async def observe(self, subject: str) -> AsyncIterator[Recorded[Any]]:
        entry: tuple[str, asyncio.Queue[Recorded[Any]]] = (subject, asyncio.Queue())
        self._observers.append(entry)
        try:
            while True:
                yield await entry[1].get()
        finally:
            self._observers.remove(entry)

    async def keyvalue(self, bucket: str, max_age: float = 0.0) -> KeyValue:
        del max_age  # nothing here lives for so long
        return self._buckets.setdefault(checked_bucket(bucket), MemoryKeyValue(MAX_PAYLOAD))

    async def dead_letters(self, *, limit: int = 100) -> list[DeadLetter]:
        return sorted(self._letters.values(), key=lambda letter: -letter.seq)[:limit]

    async def dead_letter(self, seq: int) -> DeadLetter:
        if seq not in self._letters:
            raise NotFound(f"there is no dead letter {seq}")
        return self._letters[seq]

    async def replay(self, seq: int) -> None:
        letter = await self.dead_letter(seq)
        del self._letters[seq]
        message = _Message(letter.event_seq, letter.subject, dict(letter.headers), letter.payload)
        await self._workers[letter.consumer].again(message)

    def bury(self, durable: str, message: _Message, reason: str, count: int) -> None:
        seq = max(self._letters, default=0) + 1
        self._letters[seq] = DeadLetter(
            seq, durable, reason, message.subject, message.seq, count, rfc3339(self._clock.now()),
            message.headers, message.payload,
        )  # fmt: skip

    async def news(self, position: int) -> list[_Message]:
        """What came after a position; waits for something."""
        async with self._changed:
            while len(self._log) == position:
                await self._changed.wait()
        return self._log[position:]


class _Worker:
    def __init__(self, bus: MemoryBus, wanted: Subscription, handler: EventHandler, position: int) -> None:
        self.position = position
        self._bus = bus
        self._wanted = wanted
        self._handler = handler
        self._room = asyncio.Semaphore(wanted.concurrency)
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.create_task(self._run())

    async def stop(self) -> None:
        self._loop.cancel()
        await asyncio.gather(self._loop, *self._tasks, return_exceptions=True)

    async def again(self, message: _Message) -> None:
        self._start(message)

    async def _run(self) -> None:
        while True:
            for message in await self._bus.news(self.position):
                self.position = message.seq
                if any(matches(pattern, message.subject) for pattern in self._wanted.filters):
                    await self._room.acquire()
                    self._start(message).add_done_callback(lambda _: self._room.release())

    def _start(self, message: _Message) -> asyncio.Task[None]:
        task = asyncio.create_task(self._handle(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _handle(self, message: _Message) -> None:
        count = 0
        while True:
            count += 1
            try:
                recorded = message.recorded()
                token = traceparent.set(recorded.traceparent)
                try:
                    await self._handler(recorded)
                finally:
                    traceparent.reset(token)
                return
            except Retryable as error:
                delay = error.delay
            except (Permanent, UserError) as error:
                self._bus.bury(self._wanted.durable, message, str(error), count)
                return
            except Exception as error:  # noqa: BLE001 - as the real one
                if count >= self._wanted.max_deliver:
                    self._bus.bury(self._wanted.durable, message, f"{type(error).__name__}: {error}", count)
                    return
                delay = self._wanted.backoff[min(count, len(self._wanted.backoff)) - 1]
            await asyncio.sleep(delay)


class _Served:
    def __init__(self, bus: MemoryBus, handlers: Mapping[str, CommandHandler]) -> None:
        self._bus = bus
        self._handlers = handlers

    async def stop(self) -> None:
        self._bus.unserve(self._handlers)


def matches(pattern: str, subject: str) -> bool:
    """NATS wildcards: `*` is one token, `>` is the rest."""
    wanted, given = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, given = wanted[:-1], given[: len(wanted) - 1] if len(given) >= len(wanted) else []
        if not given:
            return False
    return len(wanted) == len(given) and all(fnmatchcase(g, w) for w, g in zip(wanted, given, strict=True))


def _readable(messages: list[_Message]) -> list[Recorded[Any]]:
    found = []
    for message in messages:
        try:
            found.append(message.recorded())
        except Permanent:
            continue
    return found
