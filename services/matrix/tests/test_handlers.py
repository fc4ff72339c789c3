"""Each submitted job gets one answer, whatever is delivered twice or cancelled meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.version import Version

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.codec import Recorded
from trainyard.common.contract.events import JobCancelling, JobRejected, JobResolved, JobSubmitted
from trainyard.common.testing.builders import submitted
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.handlers import HANDLERS, Matrix, on_submitted


class Fixed:
    def all(self) -> Sequence[Image]:
        return (*BUILT_IN, Image("pytorch-cpu", "pytorch", Version("2.13.0"), ("cpu",)))


async def record(bus: MemoryBus, event: JobSubmitted) -> Recorded[JobSubmitted]:
    await bus.append(event, after=0)
    return (await bus.latest("job", event.job_id))[0]


async def last(bus: MemoryBus, job_id: str) -> object:
    return (await bus.latest("job", job_id))[-1].event


async def test_a_job_that_fits_is_resolved(memory_bus: MemoryBus) -> None:
    recorded = await record(memory_bus, submitted(framework="pytorch"))
    await on_submitted(Matrix.of(memory_bus, Fixed()), recorded)
    event = await last(memory_bus, recorded.event.job_id)
    assert isinstance(event, JobResolved)
    assert (event.resolution.image, event.resolution.framework_version, event.owner) == ("pytorch-cpu", "2.13.0", "ann")
    assert event.spec == recorded.event.spec


async def test_a_job_that_does_not_fit_is_rejected_with_the_nearest(memory_bus: MemoryBus) -> None:
    recorded = await record(memory_bus, submitted(framework="pytorch<2"))
    await on_submitted(Matrix.of(memory_bus, Fixed()), recorded)
    event = await last(memory_bus, recorded.event.job_id)
    assert isinstance(event, JobRejected)
    assert event.message == "no image has pytorch <2. Nearest: framework: pytorch==2.13.0"


async def test_delivered_twice_it_is_answered_once(memory_bus: MemoryBus) -> None:
    recorded = await record(memory_bus, submitted())
    for _ in range(2):
        await on_submitted(Matrix.of(memory_bus, Fixed()), recorded)
    kinds = [item.event.kind async for item in memory_bus.history("job", recorded.event.job_id)]
    assert kinds == ["submitted", "resolved"]


async def test_cancelled_meanwhile_it_is_not_answered(memory_bus: MemoryBus) -> None:
    recorded = await record(memory_bus, submitted())
    await memory_bus.append(JobCancelling(job_id=recorded.event.job_id, by="ann"), after=recorded.seq)
    await on_submitted(Matrix.of(memory_bus, Fixed()), recorded)
    kinds = [item.event.kind async for item in memory_bus.history("job", recorded.event.job_id)]
    assert kinds == ["submitted", "cancelling"]


def test_the_table_is_what_is_consumed() -> None:
    assert set(HANDLERS) == {JobSubmitted}
