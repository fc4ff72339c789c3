"""From events to a conversion and back: requested once, carried out once, ended once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.clock import SystemClock
from trainyard.common.contract import events
from trainyard.common.contract.codec import Recorded
from trainyard.common.errors import Retryable
from trainyard.common.testing.builders import spec
from trainyard.converter.conversion import Tools
from trainyard.converter.handlers import Converter, on_job_succeeded, on_requested
from trainyard.converter.ports import ModelFault

BLOCK = {"model": "m:f", "inputs": [{"name": "x", "shape": ["batch", 2]}]}


class Refusing:
    """An exporter whose machine, or whose model, is at fault."""

    def __init__(self, fault: Exception) -> None:
        self.fault = fault
        self.calls = 0

    async def export(self, request: Any) -> Any:
        self.calls += 1
        raise self.fault


def converter(bus: MemoryBus, state: Path, fault: Exception) -> Converter:
    tools = Tools(Refusing(fault), None, SystemClock(), state)  # type: ignore[arg-type] # serving is never reached
    return Converter(bus, tools)


async def succeeded(bus: MemoryBus, **changes: Any) -> Recorded[Any]:
    job, made = ids.new_job_id(), spec(**changes)
    seq = await bus.append(events.JobSubmitted(job_id=job, spec=made, owner="ann"), after=0)
    for event in (
        events.JobResolved(job_id=job, spec=made, owner="ann", resolution=events.Resolution(image="pytorch-cpu")),
        events.JobStarting(job_id=job, backend="local", node="n"),
        events.JobRunning(job_id=job),
        events.JobSucceeded(job_id=job, outputs="/out"),
    ):
        seq = await bus.append(event, after=seq)
    return (await bus.latest("job", job))[-1]


async def kinds(bus: MemoryBus, conversion_id: str) -> list[str]:
    return [item.event.kind async for item in bus.history("conversion", conversion_id)]


async def test_a_jobs_block_becomes_one_request(memory_bus: MemoryBus, tmp_path: Path) -> None:
    made = converter(memory_bus, tmp_path, ModelFault("x"))
    recorded = await succeeded(memory_bus, convert=BLOCK, workdir="/work")
    for _ in range(3):
        await on_job_succeeded(made, recorded)
    conversion_id = ids.derived("conversion", recorded.event.job_id)
    assert await kinds(memory_bus, conversion_id) == ["requested"]
    request = (await memory_bus.latest("conversion", conversion_id))[0].event
    assert (request.owner, request.spec.workdir, request.spec.artifacts) == ("ann", "/work", "/out")
    assert (request.spec.image, request.spec.convert.name) == ("pytorch-cpu", "a-job")


async def test_a_job_without_a_block_asks_for_nothing(memory_bus: MemoryBus, tmp_path: Path) -> None:
    recorded = await succeeded(memory_bus)
    await on_job_succeeded(converter(memory_bus, tmp_path, ModelFault("x")), recorded)
    assert await kinds(memory_bus, ids.derived("conversion", recorded.event.job_id)) == []


async def request(bus: MemoryBus, made: Converter) -> Recorded[Any]:
    recorded = await succeeded(bus, convert=BLOCK, workdir="/work")
    await on_job_succeeded(made, recorded)
    return (await bus.latest("conversion", ids.derived("conversion", recorded.event.job_id)))[0]


async def test_a_users_fault_ends_it_with_a_report(memory_bus: MemoryBus, tmp_path: Path) -> None:
    made = converter(memory_bus, tmp_path, ModelFault("the weights do not fit"))
    recorded = await request(memory_bus, made)
    await on_requested(made, recorded)
    last = (await memory_bus.latest("conversion", recorded.event.conversion_id))[-1].event
    assert (last.kind, last.reason, last.message) == ("failed", "model", "the weights do not fit")
    assert Path(last.report).exists()
    calls = made.tools.exporter.calls  # type: ignore[attr-defined]
    await on_requested(made, recorded)  # delivered again: it has ended
    assert made.tools.exporter.calls == calls  # type: ignore[attr-defined]


async def test_the_machines_fault_is_tried_again_in_a_new_attempt(memory_bus: MemoryBus, tmp_path: Path) -> None:
    made = converter(memory_bus, tmp_path, Retryable("no memory left"))
    recorded = await request(memory_bus, made)
    for _ in range(2):
        with pytest.raises(Retryable):
            await on_requested(made, recorded)
    attempts = {
        item.event.attempt
        async for item in memory_bus.history("conversion", recorded.event.conversion_id)
        if item.event.kind == "progress"
    }
    assert attempts == {1, 2}
    assert "failed" not in await kinds(memory_bus, recorded.event.conversion_id)
