"""Whole conversions in the real image: what works is proven, what does not is refused with its cause."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.common import ids
from trainyard.common.clock import SystemClock
from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.contract.explain import validate
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.torch_exporter import TorchExporter
from trainyard.converter.conversion import ConversionFault, Tools, convert

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

MODELS = '''
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    def forward(self, x):
        return self.body(x)

def small():
    return Small()

class BatchBaked(nn.Module):
    """`where` on a mask built for the example's batch: right for that batch alone."""
    def forward(self, x):
        mask = torch.zeros(2, 4, dtype=torch.bool)
        return torch.where(mask[: x.shape[0]] if x.shape[0] <= 2 else mask.repeat(16, 1)[: x.shape[0]], 0.0, x)

class Unused(nn.Module):
    def forward(self, x, y):
        return x * 2

class Twice(nn.Module):
    def forward(self, x):
        out = x + 1
        return out, out

class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 40)
    def forward(self, x):
        return self.table(x)

def not_a_module():
    return 5

def fails():
    raise ValueError("no such file: secret.bin")

class Eats(nn.Module):
    def forward(self, x):
        kept = [torch.ones(64, 1024, 1024) for _ in range(64)]
        return x + kept[0][0, 0, 0]
'''

Convert = Callable[..., Awaitable[tuple[Any, Path]]]


@pytest.fixture(scope="module")
def workdir(tmp_path_factory: pytest.TempPathFactory, torch_python: Path) -> Path:
    folder = tmp_path_factory.mktemp("work")
    (folder / "zoo.py").write_text(MODELS)
    script = (
        "import torch, zoo\n"
        "for name in ('Small', 'BatchBaked', 'Unused', 'Twice', 'Table', 'Eats'):\n"
        "    torch.manual_seed(1); torch.save(getattr(zoo, name)().state_dict(), f'{name}.pt')\n"
        "torch.save(zoo.Small(), 'pickled.pt')\n"
    )
    subprocess.run([torch_python, "-c", script], cwd=folder, check=True)
    return folder


@pytest.fixture
def run(workdir: Path, torch_python: Path, tmp_path: Path) -> Convert:
    async def python(_: str) -> Path:
        return torch_python

    async def go(model: str, weights: str, *, limits: Limits | None = None, **changes: Any) -> tuple[Any, Path]:
        document = {
            "workdir": str(workdir),
            "artifacts": str(workdir),
            "convert": {
                "name": "m",
                "model": model,
                "weights": weights,
                "inputs": [{"name": "x", "shape": ["batch", 4]}],
                "batch_sizes": [1, 2, 5],
                **changes,
            },
        }
        request = ConversionRequested(conversion_id=ids.new_conversion_id(), spec=validate(ConversionSpec, document))
        tools = Tools(TorchExporter(python, limits), TritonServingCheck(), SystemClock(), tmp_path)

        async def tell(step: str, message: str, fraction: float) -> None:
            assert 0 <= fraction <= 1

        return await convert(request, tools, tell)

    return go


async def test_a_small_network(run: Convert, workdir: Path) -> None:
    random = np.random.default_rng(0)
    np.savez(workdir / "samples.npz", x=random.normal(size=(9, 4)).astype(np.float32), labels=np.arange(9) % 3)
    report, folder = await run("zoo:small", "Small.pt", samples="samples.npz", labels=["a", "b", "c"])
    assert report.verdict == "proven"
    assert report.max_abs_error is not None
    assert report.max_abs_error < 1e-5
    assert report.opset == 20
    assert report.inputs[0]["shape"] == (-1, 4) or report.inputs[0]["shape"] == [-1, 4]
    assert {item["case"] for item in report.comparisons} >= {"samples, batch 1", "random, batch 5", "zeros, batch 2"}
    assert report.served is not None
    assert report.served.predicted == report.served.reference
    assert report.served.predicted in {"a", "b", "c"}
    assert "training mode" in " ".join(report.notes)
    assert "without network" in report.sandbox or "cannot be cut" in report.sandbox
    stored = json.loads((folder / "report.json").read_text())
    assert stored["verdict"] == "proven"
    assert "<script" not in (folder / "report.html").read_text()
    assert (folder / "triton" / "m" / "1" / "model.onnx").exists()
    assert not list(folder.glob("rung-*"))


async def test_an_unused_input_is_noted(run: Convert) -> None:
    inputs = [{"name": "x", "shape": ["batch", 4]}, {"name": "y", "shape": ["batch", 4]}]
    report, _ = await run("zoo:Unused", "Unused.pt", inputs=inputs)
    assert report.verdict == "proven"
    assert [item["name"] for item in report.inputs] == ["x"] or "y" in [item["name"] for item in report.inputs]


async def test_the_same_tensor_twice_has_two_names(run: Convert) -> None:
    report, _ = await run("zoo:Twice", "Twice.pt", outputs=[{"name": "one"}, {"name": "two"}])
    assert [item["name"] for item in report.outputs] == ["one", "two"]


async def test_a_table_keeps_its_width(run: Convert) -> None:
    report, _ = await run("zoo:Table", "Table.pt", inputs=[{"name": "x", "dtype": "int64", "shape": ["batch", 4]}])
    assert list(report.outputs[0]["shape"]) == [-1, 4, 40]


async def test_a_model_that_is_right_for_one_batch_alone_is_refused(run: Convert) -> None:
    with pytest.raises(ConversionFault) as caught:
        await run("zoo:BatchBaked", "BatchBaked.pt")
    assert caught.value.reason in {"export", "numbers"}
    assert caught.value.report is not None
    report = json.loads((caught.value.report / "report.json").read_text())
    assert report["verdict"] == "failed"
    assert not any(step["passed"] for step in report["steps"])


@pytest.mark.parametrize(
    ("model", "weights", "changes", "says"),
    [
        ("zoo:nothing", "Small.pt", {}, "cannot be imported"),
        ("nowhere:small", "Small.pt", {}, "No module named 'nowhere'"),
        ("zoo:not_a_module", "Small.pt", {}, "gave a int, a torch.nn.Module is needed"),
        ("zoo:fails", "Small.pt", {}, "ValueError: no such file: secret.bin (zoo.py:"),
        ("zoo:small", "missing.pt", {}, "there are no weights at"),
        ("zoo:small", "zoo.py", {}, "not only tensors"),
        ("zoo:small", "pickled.pt", {}, "holds Python objects, not only tensors"),
        ("zoo:small", "Table.pt", {}, "do not fit the model"),
        ("zoo:small", "Small.pt", {"inputs": [{"name": "x", "shape": ["batch", 5]}]}, "fails on its declared inputs"),
        ("zoo:small", "Small.pt", {"outputs": [{"name": "a"}, {"name": "b"}]}, "names 2 outputs, the model gives 1"),
        ("zoo:small", "Small.pt", {"samples": "none.npz"}, "there are no samples"),
        ("zoo:small", "Small.pt", {"samples": "zoo.py"}, "cannot be read as .npz"),
    ],
)
async def test_mistakes_are_told_in_words(run: Convert, model: str, weights: str, changes: Any, says: str) -> None:
    with pytest.raises(ConversionFault) as caught:
        await run(model, weights, **changes)
    assert caught.value.reason == "model"
    assert says in str(caught.value)
    assert caught.value.report is not None
    assert (caught.value.report / "report.html").exists()


async def test_a_model_that_eats_memory_is_ended(run: Convert) -> None:
    with pytest.raises(ConversionFault, match=r"more than 1\.0 GiB of memory|declared inputs"):
        await run("zoo:Eats", "Eats.pt", limits=Limits(memory=2**30))


async def test_a_model_that_takes_too_long_is_ended(run: Convert) -> None:
    with pytest.raises(ConversionFault, match=r"longer than 0\.1 s"):
        await run("zoo:small", "Small.pt", limits=Limits(seconds=0.1))
