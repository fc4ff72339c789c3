"""The steps of a conversion done again from what lies beside its report, where nothing of Trainyard is installed."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven
from trainyard.converter.ports import ExportRequest
from trainyard.converter.preparation import Tools

pytestmark = pytest.mark.integration

Run = Callable[..., Awaitable[Proven]]
NET = (
    '<ir_version: 8, opset_import: ["" : 17]> net (float[n, 4] x) => (float[n, 3] y) { h = MatMul (x, w) y = Relu (h) }'
)


@pytest.fixture
def run(tools: Tools, convert_files: Run, tmp_path: Path, onnx_to_torch_python: Path) -> Run:
    async def own(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    async def environment(name: str) -> Path:
        del name
        return onnx_to_torch_python

    async def one(**block: Any) -> Proven:
        model = parser.parse_model(NET)
        w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(w, "w"))
        onnx.save(model, tmp_path / "net.onnx")
        used = replace(tools, exporter=WorkerExporter(own), targets=WorkerTargetWriter(environment))
        return await convert_files(used, tmp_path, weights="net.onnx", **block)

    return one


def again(folder: Path, *arguments: str, python: str | Path = sys.executable) -> subprocess.CompletedProcess[str]:
    """Isolated, so that nothing beside the folder is found but what the interpreter has installed."""
    command = [str(python), "-I", str(folder / "scripts" / "rerun.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)


async def test_every_step_is_done_again_with_the_same_outcome(run: Run, onnx_to_torch_python: Path) -> None:
    proven = await run(to=["torch"], optimise=True, postprocessing=[{"output": "y", "activation": "softmax"}])
    steps = json.loads((proven.folder / "scripts" / "steps.json").read_text())
    told = {step.name: step for step in proven.report.steps if step.again}
    assert [step["name"] for step in steps if step["name"] in told] == list(told)
    for number, step in enumerate(steps, 1):
        if step["name"] == "optimise":
            found = again(proven.folder, str(number))
            assert (found.returncode, found.stdout.partition(" (")[0]) == (1, "name the model that goes in")
            continue
        found = again(proven.folder, str(number), python=onnx_to_torch_python)
        assert found.returncode == 0, (step["name"], found.stdout, found.stderr)
    assert (
        again(proven.folder).stdout.splitlines()[0]
        == f"1  {steps[0]['name']}  (environment: {steps[0]['environment']})"
    )
    page = (proven.folder / "report.html").read_text()
    assert all(step.again in page for step in told.values())


TORCH = """import torch
def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU())
if __name__ == "__main__":
    torch.save(build().state_dict(), "net.pt")
"""


async def test_an_export_from_pytorch_is_done_again_in_its_environment(
    convert_with: Run, torch_python: Path, onnx_to_torch_python: Path, tmp_path: Path
) -> None:
    (tmp_path / "net.py").write_text(TORCH)
    await asyncio.to_thread(subprocess.run, [torch_python, "net.py"], cwd=tmp_path, check=True)
    inputs = [{"name": "x", "shape": ["batch", 4]}]
    block = {"weights": "net.pt", "model": "net:build", "workdir": tmp_path, "inputs": inputs, "to": ["onnx"]}
    proven = await convert_with(torch_python, tmp_path, **block)
    assert proven.report.steps[0].environment.startswith("pytorch-cpu: torch 2.")
    exported = again(proven.folder, "1", "--into", str(tmp_path / "made"), python=torch_python)
    assert "made by torch 2." in exported.stdout, exported.stderr
    (proven.folder / "model.onnx").write_bytes((tmp_path / "made" / "model.onnx").read_bytes())
    compared = again(proven.folder, "2", python=onnx_to_torch_python)
    assert compared.returncode == 0, compared.stdout


async def test_a_model_that_was_exchanged_is_found_out(run: Run) -> None:
    proven = await run(to=["onnx"])
    steps = [step["name"] for step in json.loads((proven.folder / "scripts" / "steps.json").read_text())]
    number = str(steps.index("the numbers of model.onnx") + 1)
    assert again(proven.folder, number).returncode == 0
    model = onnx.load(proven.folder / "model.onnx")
    weights = numpy_helper.to_array(model.graph.initializer[0]) * np.float32(1.01)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "w"))
    onnx.save(model, proven.folder / "model.onnx")
    found = again(proven.folder, number)
    assert found.returncode == 1
    assert "random, batch 1/y differs" in found.stdout


async def test_steps_are_done_again_wherever_the_result_lies(run: Run, tmp_path: Path) -> None:
    proven = await run(to=["onnx"], precision="int8-dynamic")
    there = tmp_path / "elsewhere"
    shutil.copytree(proven.folder, there)
    shutil.rmtree(proven.folder)
    found = again(there, "3", "--into", str(tmp_path / "made"))
    assert found.stdout.splitlines()[-1] == "the same bytes as model.int8-dynamic.onnx"
    assert (tmp_path / "made" / "model.onnx").exists()
    pins = (there / "scripts" / "requirements.txt").read_text().splitlines()
    assert {line.partition("==")[0] for line in pins} >= {"onnx", "onnxruntime", "numpy"}
