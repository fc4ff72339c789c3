"""The worker alone in its sandbox: the limits that a model can run into."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.errors import Retryable
from trainyard.converter.adapters.sandbox import Limits, Outcome
from trainyard.converter.adapters.worker_exporter import WorkerExporter, answer
from trainyard.converter.ports import Exported, ExportFault, ExportRequest, ModelFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

ZOO = Path(__file__).parent / "zoo"
INPUT = TensorSpec(name="x", shape=("batch", 3))


Exporting = Callable[[str, Limits], Awaitable[Exported]]


@pytest.fixture
def export(torch_python: Path, tmp_path: Path, torch_request: Callable[..., ExportRequest]) -> Exporting:
    async def interpreter(asked: ExportRequest) -> Path:
        assert asked.source.environment is None
        return torch_python

    async def run(model: str, limits: Limits) -> Exported:
        made = tmp_path / "rung-0"
        made.mkdir()
        request = torch_request(made, model, [INPUT], weights=tmp_path / f"{model}.pt")
        return await WorkerExporter(interpreter, limits).export(request)

    return run


async def test_a_model_that_takes_too_long_is_ended(export: Exporting) -> None:
    with pytest.raises(ModelFault, match=r"the model was ended: it took longer than 0\.1 s"):
        await export("sleeps", Limits(seconds=0.1))


async def test_a_model_that_eats_memory_is_ended(export: Exporting, torch_python: Path, tmp_path: Path) -> None:
    """By the kernel where it counts what is mapped, by us where it does not."""
    subprocess.run([torch_python, ZOO / "prepare.py", ZOO, tmp_path, "Eats"], check=True, timeout=60)  # noqa: ASYNC221
    with pytest.raises(ModelFault, match=r"more than 1\.0 GiB of memory|fails on its declared inputs .* memory"):
        await export("Eats", Limits(memory=2**30))


def test_processor_time_that_ran_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFault, match="it used more processor time than it may"):
        answer(tmp_path, Outcome(-signal.SIGXCPU, "", "noise"), Limits(), {})


def test_a_full_disk_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text('{"fault": "machine", "message": "No space left on device"}')
    with pytest.raises(Retryable, match="the machine failed the export: No space left on device"):
        answer(tmp_path, Outcome(0, "", ""), Limits(), {})


async def test_an_interpreter_that_dies_is_a_fault_of_this_rung(export: Exporting) -> None:
    with pytest.raises(ExportFault, match="the export ended with code 7"):
        await export("dies", Limits())
