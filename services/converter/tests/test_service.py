"""The service on its bus with a real PyTorch model: a job's success becomes a proven, served model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.common import ids
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.events import JobResolved, JobSucceeded, Resolution
from trainyard.common.testing import builders
from trainyard.common.testing.eventually import eventually
from trainyard.converter.app import build
from trainyard.converter.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

ZOO = Path(__file__).parent / "zoo"
TRAINED = """
import sys
sys.path.insert(0, sys.argv[1])
import models, torch
torch.manual_seed(3)
torch.save({"module." + key: value for key, value in models.Residual().state_dict().items()}, sys.argv[2] + "/model.pt")
torch.save(models.Residual(), sys.argv[2] + "/pickled.pt")
"""
CONVERT: dict[str, Any] = {
    "name": "residual",
    "model": "models:Residual",
    "inputs": [{"name": "image", "shape": ["batch", 3, 16, 16]}],
    "outputs": [{"name": "scores"}],
    "samples": "samples.npz",
    "batch_sizes": [1, 2, 7],
    "labels": ["a", "b", "c", "d"],
}


@pytest.fixture(scope="module")
def output(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a job would have left: weights of a model wrapped by DistributedDataParallel, a pickle, and samples."""
    folder = tmp_path_factory.mktemp("output")
    subprocess.run([torch_python, "-c", TRAINED, ZOO, folder], check=True, timeout=120)
    images = np.random.default_rng(0).random((9, 3, 16, 16), np.float32)
    np.savez(folder / "samples.npz", image=images, labels=np.arange(9) % 4)
    return folder


@pytest.fixture
def convert(memory_bus: MemoryBus, images: Path, output: Path, tmp_path: Path) -> Callable[..., Any]:
    async def run(**changes: Any) -> Any:
        """The last event of the conversion of a job with this `convert:` block."""
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        (state / "images").symlink_to(images)
        service = build(Settings.from_env({"TRAINYARD_STATE": str(state)}), memory_bus)
        await service.start()
        try:
            job = builders.submitted(framework="pytorch", workdir=str(ZOO), convert={**CONVERT, **changes})
            resolution = Resolution(image="pytorch-cpu")
            last = await memory_bus.append(job, after=0)
            last = await memory_bus.append(
                JobResolved(job_id=job.job_id, spec=job.spec, resolution=resolution), after=last
            )
            await memory_bus.append(JobSucceeded(job_id=job.job_id, outputs=str(output)), after=last)

            async def end() -> Any:
                found = await memory_bus.latest("conversion", ids.derived("conversion", job.job_id))
                return next((item.event for item in found if item.event.kind in {"succeeded", "failed"}), None)

            return await eventually(end, within=240)
        finally:
            await service.close()

    return run


async def test_a_trained_model_is_proven_and_served(convert: Callable[..., Any], tmp_path: Path) -> None:
    event = await convert()
    assert event.kind == "succeeded", event.message
    assert event.max_abs_error < 1e-4
    assert event.batch_sizes == (1, 2, 7)
    report = json.loads((Path(event.report)).read_text())
    assert report["verdict"] == "proven"
    assert report["framework"].startswith("torch 2.")
    assert report["parameters"] > 2000
    assert {(item["name"], tuple(item["shape"])) for item in report["outputs"]} == {("scores", (-1, 4))}
    assert report["served"]["predicted"] == report["served"]["reference"]
    assert report["served"]["label"] == "a"
    model = tmp_path / "state" / "models" / "residual"
    assert "max_batch_size: 7" in (model / "config.pbtxt").read_text()
    assert (model / "1" / "model.onnx").stat().st_size > 8000


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"weights": "samples.npz"}, "samples.npz"),
        ({"weights": "none.pt"}, "there is no model at"),
        (
            {"weights": "pickled.pt"},
            "holds Python objects (models.Residual), not only tensors: save model.state_dict()",
        ),
        ({"model": "models:Pooled"}, "the weights do not fit the model"),
        ({"model": "models:dies"}, "the model cannot be exported: the export ended with code 7"),
        ({"outputs": [{"name": "a"}, {"name": "b"}]}, "convert.outputs names 2 outputs, the model gives 1"),
    ],
)
async def test_a_mistake_is_told_once(convert: Callable[..., Any], changes: dict[str, Any], words: str) -> None:
    event = await convert(**changes)
    assert event.kind == "failed"
    assert words in event.message
    assert json.loads(Path(event.report).read_text())["verdict"] == "failed"
