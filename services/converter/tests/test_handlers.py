"""The converter's side of the log: what is asked once is done once, whatever dies in between, and always ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.bus.port import EventLog
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import (
    ConversionRequested,
    ConversionSucceeded,
    Event,
    JobResolved,
    JobSucceeded,
    Resolution,
)
from trainyard.common.errors import StaleSequence, Unavailable
from trainyard.common.testing import builders
from trainyard.converter.conversion import Tools
from trainyard.converter.handlers import LAST_ATTEMPT, Converter, on_job_succeeded, on_requested

Make = Callable[..., ConversionRequested]
CONVERT = {"model": "model:build", "inputs": [{"name": "x", "shape": ["batch", 3]}]}


async def succeeded(bus: MemoryBus, outputs: str | None = "/out", **changes: Any) -> Recorded[JobSucceeded]:
    """A job that has been resolved and has succeeded, as the log tells it."""
    submitted = builders.submitted(workdir="/work", **changes)
    resolved = JobResolved(
        job_id=submitted.job_id, spec=submitted.spec, owner="ann", resolution=Resolution(image="pytorch-cpu")
    )
    last = await bus.append(submitted, after=0)
    last = await bus.append(resolved, after=last)
    event = JobSucceeded(job_id=submitted.job_id, outputs=outputs)
    return Recorded(await bus.append(event, after=last), event, "id", "source", "")


async def events(bus: EventLog, conversion_id: str) -> list[Event]:
    return [item.event async for item in bus.history("conversion", conversion_id)]


async def test_a_job_with_a_convert_block_asks_for_its_conversion_once(memory_bus: MemoryBus, tools: Tools) -> None:
    job = await succeeded(memory_bus, convert=CONVERT)
    converter = Converter(memory_bus, tools)
    await on_job_succeeded(converter, job)
    await on_job_succeeded(converter, job)
    (request,) = await events(memory_bus, ids.derived("conversion", job.event.job_id))
    assert isinstance(request, ConversionRequested)
    assert (request.job_id, request.owner) == (job.event.job_id, "ann")
    spec = request.spec
    assert (spec.image, spec.workdir, spec.artifacts) == ("pytorch-cpu", "/work", "/out")
    assert spec.convert.name == "a-job"  # the job's, where the block has none


@pytest.mark.parametrize("changes", [{}, {"convert": CONVERT, "outputs": None}])
async def test_other_jobs_ask_for_nothing(memory_bus: MemoryBus, tools: Tools, changes: dict[str, Any]) -> None:
    job = await succeeded(memory_bus, **changes)
    await on_job_succeeded(Converter(memory_bus, tools), job)
    assert await events(memory_bus, ids.derived("conversion", job.event.job_id)) == []


async def asked(bus: MemoryBus, request: ConversionRequested) -> Recorded[ConversionRequested]:
    return Recorded(await bus.append(request, after=0), request, "id", "source", "")


def there(path: str | None) -> bool:
    return path is not None and Path(path).is_file()


def versions(tools: Tools) -> list[str]:
    return sorted(item.name for item in (tools.state / "models" / "affine").iterdir() if item.is_dir())


async def test_a_request_is_carried_out_once(memory_bus: MemoryBus, tools: Tools, request_affine: Make) -> None:
    request = await asked(memory_bus, request_affine())
    converter = Converter(memory_bus, tools)
    await on_requested(converter, request)
    await on_requested(converter, request)
    kinds = [event.kind for event in await events(memory_bus, request.event.conversion_id)]
    assert kinds == ["requested", *["progress"] * 6, "succeeded"]
    done = (await events(memory_bus, request.event.conversion_id))[-1]
    assert isinstance(done, ConversionSucceeded)
    assert there(done.onnx)
    assert there(done.report)
    assert (done.name, done.batch_sizes, done.served["predicted"]) == ("affine", (1, 2, 5), "high")
    assert versions(tools) == ["1"]


async def test_a_second_model_of_the_name_is_a_second_version(
    memory_bus: MemoryBus, tools: Tools, request_affine: Make
) -> None:
    for _ in range(2):
        await on_requested(Converter(memory_bus, tools), await asked(memory_bus, request_affine()))
    assert versions(tools) == ["1", "2"]


async def test_a_failure_is_an_event_with_a_report(
    memory_bus: MemoryBus, tools: Tools, exporter: Any, request_affine: Make
) -> None:
    exporter.acts = ["wrong"]
    request = await asked(memory_bus, request_affine())
    await on_requested(Converter(memory_bus, tools), request)
    failed: Any = (await events(memory_bus, request.event.conversion_id))[-1]
    assert (failed.kind, failed.reason) == ("failed", "numbers")
    assert there(failed.report)
    assert not (tools.state / "models").exists()


class Forgetful:
    """A log that fails once at an event of this kind: before it is stored, or after."""

    def __init__(self, bus: MemoryBus, kind: str, *, stored: bool) -> None:
        self._bus, self._kind, self._stored = bus, kind, stored

    async def append(self, event: Event, *, after: int) -> int:
        if event.kind == self._kind:
            self._kind = ""
            if self._stored:
                await self._bus.append(event, after=after)
            raise Unavailable("nats-server does not answer")
        return await self._bus.append(event, after=after)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)


@pytest.mark.parametrize("kind", ["progress", "succeeded"])
@pytest.mark.parametrize("stored", [False, True])
async def test_a_crash_anywhere_ends_in_one_result(
    memory_bus: MemoryBus, tools: Tools, request_affine: Make, kind: str, stored: bool
) -> None:
    request = await asked(memory_bus, request_affine())
    log: Any = Forgetful(memory_bus, kind, stored=stored)
    with pytest.raises(Unavailable):
        await on_requested(Converter(log, tools), request)
    await on_requested(Converter(log, tools), request)
    kinds = [event.kind for event in await events(memory_bus, request.event.conversion_id)]
    assert kinds.count("succeeded") == 1
    assert kinds[-1] == "succeeded"
    assert versions(tools) == ["1"]
    assert [item.name for item in (tools.state / "conversions").iterdir()] == [request.event.conversion_id]


@pytest.mark.parametrize(("act", "words"), [("machine", "the disk is full"), ("bug", "nobody thought of this")])
async def test_what_the_machine_prevents_for_good_ends_too(
    memory_bus: MemoryBus, tools: Tools, exporter: Any, request_affine: Make, act: str, words: str
) -> None:
    exporter.acts = [act]
    request = await asked(memory_bus, request_affine())
    converter = Converter(memory_bus, tools)
    for _ in range(LAST_ATTEMPT - 1):
        with pytest.raises(Exception, match=words):
            await on_requested(converter, request)
    await on_requested(converter, request)
    failed: Any = (await events(memory_bus, request.event.conversion_id))[-1]
    assert (failed.kind, failed.reason) == ("failed", "machine")
    assert failed.message == f"given up after {LAST_ATTEMPT} attempts: {words}"


class Overtaken(Forgetful):
    """At the first event of this kind another converter carries out the whole request in between."""

    def __init__(self, bus: MemoryBus, kind: str, other: Callable[[], Awaitable[None]]) -> None:
        super().__init__(bus, "", stored=False)
        self._at, self._other = kind, other

    async def append(self, event: Event, *, after: int) -> int:
        if event.kind == self._at:
            self._at = ""
            await self._other()
        return await super().append(event, after=after)


@pytest.mark.parametrize("kind", ["progress", "succeeded"])
async def test_of_two_converters_one_has_the_last_word(
    memory_bus: MemoryBus, tools: Tools, request_affine: Make, kind: str
) -> None:
    request = await asked(memory_bus, request_affine())
    log: Any = Overtaken(memory_bus, kind, lambda: on_requested(Converter(memory_bus, tools), request))
    with suppress(StaleSequence):  # the bus delivers again; the same end of both is no conflict
        await on_requested(Converter(log, tools), request)
    kinds = [event.kind for event in await events(memory_bus, request.event.conversion_id)]
    assert kinds[-1] == "succeeded"
    assert kinds.count("succeeded") == 1
    assert versions(tools) == ["1"]
