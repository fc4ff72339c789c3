"""The matrix answers what a job file would become, and shows what it knows; over the bus, as a client asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packaging.version import Version

from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.commands import Answer, Command, ResolveJob, ShowMatrix
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.commands import bound
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.handlers import Matrix


class Fixed:
    def all(self) -> Sequence[Image]:
        return (*BUILT_IN, Image("pytorch-cu126", "pytorch", Version("2.13.0"), ("gpu",), "cuda", "12.6"))


def job(accelerators: Any, **changes: Any) -> ResolveJob:
    spec = {"name": "a", "framework": "pytorch", "command": "true", "resources": {"accelerators": accelerators}}
    return ResolveJob(spec={**spec, **changes})


async def ask(bus: MemoryBus, command: Command) -> Answer:
    running = await bus.serve(bound(Matrix.of(bus, Fixed(), shipped())))
    answer = await bus.request(command)
    await running.stop()
    return answer


async def test_a_job_that_fits_is_explained(memory_bus: MemoryBus) -> None:
    answer = await ask(memory_bus, job("2(V100)"))
    assert answer.status == 200
    assert answer.body["fits"] is True
    resolution = answer.body["resolution"]
    assert (resolution["image"], resolution["product"]) == ("pytorch-cu126", "v100-16g")
    assert resolution["resources"] == {"nvidia.com/gpu": 2}
    assert resolution["visible"] == "CUDA_VISIBLE_DEVICES"
    assert [reason["rule"] for reason in answer.body["reasons"]][-1] == "choice"


async def test_a_job_that_does_not_fit_is_an_answer_not_an_error(memory_bus: MemoryBus) -> None:
    answer = await ask(memory_bus, job("1(B200)", framework="pytorch==2.6.0"))
    assert (answer.status, answer.body["fits"]) == (200, False)
    assert "framework: pytorch>=2.7" in answer.body["nearest"]
    assert "resolution" not in answer.body


async def test_what_is_no_job_file_is_refused_in_words(memory_bus: MemoryBus) -> None:
    answer = await ask(memory_bus, ResolveJob(spec={"name": "a", "framework": "pytorch", "comand": "true"}))
    assert answer.status == 422
    assert any("did you mean 'command'?" in str(error) for error in answer.body["errors"])


async def test_nothing_is_written(memory_bus: MemoryBus) -> None:
    await ask(memory_bus, job(0))
    assert [item async for item in memory_bus.history("job", "a")] == []


async def test_the_facts_are_shown_with_sources(memory_bus: MemoryBus) -> None:
    body = (await ask(memory_bus, ShowMatrix(framework="jax"))).body
    assert {row["framework"] for row in body["tables"]["releases"]} == {"jax"}
    assert all(row["source"] and row["date"] for rows in body["tables"].values() for row in rows)
    assert body["images"] == []
    assert len(body["tables"]["hardware"]) > 40


async def test_all_of_it_fits_into_a_message(memory_bus: MemoryBus) -> None:
    answer = await ask(memory_bus, ShowMatrix())
    assert sum(map(len, answer.body["tables"].values())) >= 300
    assert len(answer.dump()) < 2**19


async def test_an_unknown_framework_is_told_with_the_nearest(memory_bus: MemoryBus) -> None:
    answer = await ask(memory_bus, ShowMatrix(framework="pytroch"))
    assert answer.status == 422
    assert "did you mean 'pytorch'?" in str(answer.body)
