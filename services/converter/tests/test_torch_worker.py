"""The worker alone in its sandbox: the limits that a model can run into."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.errors import Retryable
from trainyard.converter.adapters.sandbox import Limits, Outcome
from trainyard.converter.adapters.torch_exporter import TorchExporter, answer
from trainyard.converter.core import cases
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import Exported, ExportFault, ExportRequest, ModelFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

ZOO = Path(__file__).parent / "zoo"
INPUT = TensorSpec(name="x", shape=("batch", 3))


async def export(python: Path, folder: Path, model: str, limits: Limits) -> Exported:
    async def interpreter(image: str) -> Path:
        assert image == "pytorch-cpu"
        return python

    weights = folder / f"{model}.pt"
    made = folder / "rung-0"
    made.mkdir()
    request = ExportRequest(
        image="pytorch-cpu",
        workdir=ZOO,
        model=f"models:{model}",
        weights=weights,
        inputs=(INPUT.model_dump(mode="json"),),
        output_names=(),
        rung=Rung("dynamo", 18),
        cases=cases.build([INPUT], (1, 2, 3), None),
        folder=made,
    )
    return await TorchExporter(interpreter, limits).export(request)


async def test_a_model_that_takes_too_long_is_ended(torch_python: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFault, match=r"the model was ended: it took longer than 0\.1 s"):
        await export(torch_python, tmp_path, "sleeps", Limits(seconds=0.1))


async def test_a_model_that_eats_memory_is_ended(torch_python: Path, tmp_path: Path) -> None:
    """By the kernel where it counts what is mapped, by us where it does not."""
    subprocess.run([torch_python, ZOO / "prepare.py", ZOO, tmp_path, "Eats"], check=True, timeout=60)  # noqa: ASYNC221
    with pytest.raises(ModelFault, match=r"more than 1\.0 GiB of memory|fails on its declared inputs .* memory"):
        await export(torch_python, tmp_path, "Eats", Limits(memory=2**30))


def test_processor_time_that_ran_out_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFault, match="it used more processor time than it may"):
        answer(tmp_path, Outcome(-signal.SIGXCPU, "", "noise"), Limits())


def test_a_full_disk_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text('{"fault": "machine", "message": "No space left on device"}')
    with pytest.raises(Retryable, match="the machine failed the export: No space left on device"):
        answer(tmp_path, Outcome(0, "", ""), Limits())


async def test_an_interpreter_that_dies_is_a_fault_of_this_rung(torch_python: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportFault, match="the export ended with code 7"):
        await export(torch_python, tmp_path, "dies", Limits())
