"""Durable work, dead letters, commands and telemetry."""

from __future__ import annotations

import asyncio
import uuid
from functools import partial
from typing import Any

import pytest

from trainyard.common.bus.port import Bus, Request, Subscription
from trainyard.common.contract import subjects
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.commands import Answer, CancelJob, ShowMatrix
from trainyard.common.contract.events import DeviceSampled
from trainyard.common.errors import Conflict, NotFound, Permanent, Retryable, Unavailable
from trainyard.common.testing.builders import submitted
from trainyard.common.testing.eventually import eventually


def subscription(**changes: Any) -> Subscription:
    defaults: dict[str, Any] = {
        "durable": f"test-{uuid.uuid4().hex[:12]}",
        "filters": (subjects.of_kind("job", "submitted"),),
        "backoff": (0.05,),
        "max_deliver": 3,
    }
    return Subscription(**{**defaults, **changes})


class Recorder:
    """A handler that notes what it gets of one job, and raises what it is told to."""

    def __init__(self, job_id: str, *outcomes: Exception | None) -> None:
        self.job_id = job_id
        self.outcomes = list(outcomes)
        self.seen: list[Recorded[Any]] = []

    async def __call__(self, recorded: Recorded[Any]) -> None:
        if recorded.event.entity_id() != self.job_id:
            return
        self.seen.append(recorded)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if outcome is not None:
            raise outcome


async def test_a_message_is_handled_once_when_it_is_acked(bus: Bus) -> None:
    event = submitted()
    handler = Recorder(event.job_id)
    running = await bus.consume(subscription(), handler)
    seq = await bus.append(event, after=0)
    await eventually(lambda: handler.seen)
    await asyncio.sleep(0.2)
    await running.stop()
    assert [(item.seq, item.event) for item in handler.seen] == [(seq, event)]


async def test_what_was_waiting_is_handled_after_a_restart_and_nothing_twice(bus: Bus) -> None:
    wanted = subscription()
    first, second = submitted(), submitted()
    early = Recorder(first.job_id)
    running = await bus.consume(wanted, early)
    await bus.append(first, after=0)
    await eventually(lambda: early.seen)
    await running.stop()
    await bus.append(second, after=0)
    late, again = Recorder(second.job_id), Recorder(first.job_id)

    async def both(recorded: Recorded[Any]) -> None:
        await late(recorded)
        await again(recorded)

    running = await bus.consume(wanted, both)
    await eventually(lambda: late.seen)
    await running.stop()
    assert not again.seen


async def test_retryable_comes_back_after_its_delay_and_is_not_counted(bus: Bus) -> None:
    event = submitted()
    handler = Recorder(event.job_id, *(Retryable("not yet", delay=0.05) for _ in range(5)))
    running = await bus.consume(subscription(max_deliver=2), handler)
    await bus.append(event, after=0)
    await eventually(lambda: len(handler.seen) == 6)
    await running.stop()
    assert not [letter for letter in await bus.dead_letters() if event.job_id in letter.subject]


@pytest.mark.parametrize(
    ("error", "deliveries"),
    [(Permanent("it is broken"), 1), (Conflict("it is broken"), 1), (KeyError("it is broken"), 3)],
)
async def test_what_cannot_be_handled_becomes_a_dead_letter(bus: Bus, error: Exception, deliveries: int) -> None:
    event = submitted()
    wanted = subscription()
    handler = Recorder(event.job_id, *[error] * 3)
    running = await bus.consume(wanted, handler)
    seq = await bus.append(event, after=0)

    async def buried() -> Any:
        return [letter for letter in await bus.dead_letters() if letter.consumer == wanted.durable]

    letters = await eventually(buried)
    await running.stop()
    assert len(handler.seen) == deliveries
    assert len(letters) == 1
    letter = letters[0]
    assert "it is broken" in letter.reason
    assert (letter.event_seq, letter.deliveries) == (seq, deliveries)
    assert letter.payload == event.dump()
    assert (await bus.dead_letter(letter.seq)).reason == letter.reason


async def test_a_dead_letter_is_replayed_to_its_consumer_alone(bus: Bus) -> None:
    event = submitted()
    wanted = subscription()
    handler, other = Recorder(event.job_id, Permanent("broken")), Recorder(event.job_id)
    running, bystander = await bus.consume(wanted, handler), await bus.consume(subscription(), other)
    seq = await bus.append(event, after=0)

    async def buried() -> Any:
        return [letter for letter in await bus.dead_letters() if letter.consumer == wanted.durable]

    letters = await eventually(buried)
    await bus.replay(letters[0].seq)
    await eventually(lambda: len(handler.seen) == 2)
    await eventually(lambda: other.seen)
    await running.stop()
    await bystander.stop()
    assert (handler.seen[1].seq, handler.seen[1].event) == (seq, event)
    assert len(other.seen) == 1
    assert not await buried()
    with pytest.raises(NotFound):
        await bus.replay(letters[0].seq)


async def test_a_replay_that_fails_again_is_buried_again(bus: Bus) -> None:
    event, wanted = submitted(), subscription()
    running = await bus.consume(wanted, Recorder(event.job_id, Permanent("first"), Permanent("second")))
    seq = await bus.append(event, after=0)

    async def buried(reason: str) -> Any:
        letters = await bus.dead_letters()
        return [letter for letter in letters if letter.consumer == wanted.durable and letter.reason == reason]

    await bus.replay((await eventually(lambda: buried("first")))[0].seq)
    letters = await eventually(lambda: buried("second"))
    await running.stop()
    assert [letter.event_seq for letter in letters] == [seq]
    assert not await buried("first")


async def test_no_more_run_at_once_than_allowed(bus: Bus) -> None:
    now, most = 0, 0
    done: list[str] = []
    mine = {submitted().job_id: None for _ in range(12)}

    async def handler(recorded: Recorded[Any]) -> None:
        nonlocal now, most
        if recorded.event.job_id not in mine:
            return
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.02)
        now -= 1
        done.append(recorded.event.job_id)

    for job_id in mine:
        await bus.append(submitted(job_id), after=0)
    running = await bus.consume(subscription(concurrency=3), handler)
    await eventually(lambda: len(done) == 12)
    await running.stop()
    assert 1 < most <= 3
    assert sorted(done) == sorted(mine)


async def test_commands_are_answered(bus: Bus) -> None:
    async def cancel(request: Request) -> Answer:
        command = request.command
        assert isinstance(command, CancelJob)
        if command.job_id == "missing":
            raise NotFound("there is no job missing")
        return Answer(status=202, body={"job_id": command.job_id, "id": request.id, "source": request.source})

    running = await bus.serve({"job.cancel": cancel})
    good = await bus.request(CancelJob(job_id="j1"), request_id="r1")
    bad = await bus.request(CancelJob(job_id="missing"))
    await running.stop()
    assert good == Answer(status=202, body={"job_id": "j1", "id": "r1", "source": "/trainyard/test"})
    assert (bad.status, bad.body["detail"]) == (404, "there is no job missing")


async def test_two_services_answer_their_own_resources(bus: Bus) -> None:
    async def say(word: str, _: Request) -> Answer:
        return Answer(status=200, body={"by": word})

    first = await bus.serve({"job.cancel": partial(say, "gateway")})
    second = await bus.serve({"matrix.show": partial(say, "matrix")})
    for _ in range(4):
        assert (await bus.request(ShowMatrix())).body == {"by": "matrix"}
        assert (await bus.request(CancelJob(job_id="j"))).body == {"by": "gateway"}
    await second.stop()
    assert (await bus.request(CancelJob(job_id="j"))).body == {"by": "gateway"}
    with pytest.raises(Unavailable):
        await bus.request(ShowMatrix(), timeout=0.3)
    await first.stop()


async def test_without_a_service_a_request_gives_up_in_time(bus: Bus) -> None:
    with pytest.raises(Unavailable, match="no service answered"):
        await bus.request(CancelJob(job_id="j"), timeout=0.3)


async def test_telemetry_reaches_who_listens(bus: Bus) -> None:
    node = f"n{uuid.uuid4().hex[:8]}"
    observer = bus.observe(subjects.of_kind("device", "sampled"))
    waiting = asyncio.ensure_future(anext(observer))
    event = DeviceSampled(node=node, at=1.0)

    async def heard() -> bool:
        await bus.publish(event)
        return waiting.done()

    await eventually(heard)
    assert (await waiting).event == event
    await observer.aclose()  # type: ignore[attr-defined]
