"""TorchScript archives whose code reaches files are refused before they are loaded."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.core import formats
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import Exported, ExportRequest, ModelFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

ZOO = Path(__file__).parent / "zoo"
INPUT = TensorSpec(name="x", shape=("batch", 3))
Exporting = Callable[..., Awaitable[Exported]]


@pytest.fixture
def export(torch_python: Path, tmp_path: Path, torch_request: Callable[..., ExportRequest]) -> Exporting:
    subprocess.run([torch_python, "-W", "ignore", ZOO / "reaching.py", tmp_path], check=True, timeout=120)

    async def interpreter(asked: ExportRequest) -> Path:
        del asked
        return torch_python

    async def run(model: str, **changes: Any) -> Exported:
        folder = tmp_path / "rung-0"
        folder.mkdir()
        kind = {"format": "torchscript", "source": formats.SOURCES["torchscript"], "rung": Rung("torchscript", 17)}
        weights = tmp_path / f"{model}.pt"
        return await WorkerExporter(interpreter).export(
            torch_request(folder, model, [INPUT], weights=weights, **kind, **changes)
        )

    return run


@pytest.mark.parametrize(("model", "word"), [("Reads", "from_file"), ("Writes", "save")])
async def test_code_that_reaches_files_needs_trust(export: Exporting, model: str, word: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFault, match=rf"{model}\.pt may reach files \('{word}' in code/.*; convert\.trust lets it"):
        await export(model)
    assert not list(tmp_path.rglob("WRITTEN"))


async def test_trusted_code_may(export: Exporting) -> None:
    exported = await export("Writes", trust=True)
    assert exported.onnx.exists()


async def test_code_that_computes_is_exported(export: Exporting) -> None:
    exported = await export("Computes")
    assert exported.onnx.exists()
