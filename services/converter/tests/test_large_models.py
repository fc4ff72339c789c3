"""Models whose weights do not fit into one file: the limit lowered so that small ones go the same way, and one above 2 GiB.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from onnx.external_data_helper import set_external_data

from trainyard.common.contract.conversions import TensorSpec
from trainyard.converter.adapters import onnx_files
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import ExportFault, ExportRequest
from trainyard.converter.preparation import Tools
from trainyard.converter.workers import onnx_file

pytestmark = pytest.mark.integration

RANDOM = np.random.default_rng(0)
SMALL = Limits(inline=4096)
PICTURES = """net (float[batch, 3, 8, 8] x) => (float[batch, 10] y) {
    f = Flatten (x)
    h = MatMul (f, w1)
    a = Relu (h)
    y = MatMul (a, w2)
}"""
CLASSES = RANDOM.random((10, 192)).astype(np.float32)
"""A picture of each class. The second weights tell them apart by far, so that int8 does too."""
W1 = RANDOM.standard_normal((192, 32)).astype(np.float32) / 8
WEIGHTS = {"w1": W1, "w2": np.linalg.pinv(np.maximum(CLASSES @ W1, 0)).astype(np.float32)}


@pytest.fixture
def small(tools: Tools, images: Path) -> Tools:
    """Tools of which every worker puts weights beside that exceed 4 KiB, and the server that ships."""

    async def here(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    return replace(
        tools,
        exporter=WorkerExporter(here, SMALL),
        rewriter=WorkerRewriter(SMALL),
        serving=TritonServingCheck(),
        limits=SMALL,
    )


@pytest.fixture
def net(tmp_path: Path) -> Path:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {PICTURES}')
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in WEIGHTS.items())
    onnx.save(model, tmp_path / "net.onnx")
    np.savez(tmp_path / "samples.npz", x=np.tile(CLASSES, (8, 1)).reshape(80, 3, 8, 8))
    return tmp_path


def lies_beside(file: Path) -> bool:
    """Whether the model's weights are in the file of its own name and nowhere else."""
    graph = onnx.load(file, load_external_data=False)
    places = {e.value for item in onnx_file.outside(graph) for e in item.external_data if e.key == "location"}
    return places == {file.name + ".data"} and file.with_name(file.name + ".data").is_file()


@pytest.mark.parametrize(
    ("block", "serves"),
    [
        ({}, "model.onnx"),
        ({"optimise": True}, "model.onnx"),
        ({"precision": "float16"}, "model.float16.onnx"),
        ({"precision": "int8", "samples": "samples.npz"}, "model.int8.onnx"),
        ({"precision": "int8-dynamic"}, "model.int8-dynamic.onnx"),
        ({"preprocessing": [{"input": "x", "resize": [8, 8], "scale": 1 / 255}]}, "model.served.onnx"),
    ],
    ids=["as exported", "optimised", "float16", "int8", "int8-dynamic", "pictures"],
)
async def test_59_weights_that_do_not_fit_travel_beside_the_model(
    small: Tools, net: Path, convert_files: Callable[..., Awaitable[Proven]], block: dict[str, Any], serves: str
) -> None:
    proven = await convert_files(small, net, weights="net.onnx", **block)
    assert proven.serves.name == serves
    assert lies_beside(proven.folder / "model.onnx")
    assert lies_beside(proven.serves)
    assert proven.report.served is not None
    assert proven.report.served.passed
    served = proven.folder / "triton" / "model" / "1" / "model.onnx"
    assert lies_beside(served / "model.onnx")
    listed = {file.path for file in proven.report.files}
    assert {"model.onnx.data", "triton/model/1/model.onnx/model.onnx.data"} <= listed
    if proven.report.lowered:
        assert proven.report.lowered.bytes_before > proven.report.lowered.bytes_after > 4096


async def test_59_a_module_of_pytorch_is_written_from_weights_beside_the_model(
    small: Tools, net: Path, convert_files: Callable[..., Awaitable[Proven]], onnx_to_torch_python: Path
) -> None:
    async def environment(name: str) -> Path:
        del name
        return onnx_to_torch_python

    tools = replace(small, targets=WorkerTargetWriter(environment, SMALL))
    proven = await convert_files(tools, net, weights="net.onnx", to=["onnx", "torch", "torchscript"])
    assert [(item.target, item.passed) for item in proven.report.targets] == [("torch", True), ("torchscript", True)]


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript"])
async def test_59_what_pytorch_exports_lies_beside_where_it_is_large(
    torch_request: Callable[..., ExportRequest], torch_python: Path, tmp_path: Path, exporter: str
) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\ndef build():\n    torch.manual_seed(0)\n    return torch.nn.Linear(64, 64)\n"
        "if __name__ == '__main__':\n    torch.save(build().state_dict(), 'net.pt')\n"
    )
    await asyncio.to_thread(subprocess.run, [torch_python, "net.py"], cwd=tmp_path, check=True)
    inputs = [TensorSpec(name="x", shape=("batch", 64))]
    request = torch_request(tmp_path, "net", inputs, workdir=tmp_path, rung=Rung(exporter, 18))
    folder = tmp_path / "work"
    folder.mkdir()

    async def python(request: ExportRequest) -> Path:
        del request
        return torch_python

    exported = await WorkerExporter(python, SMALL).export(replace(request, model="net:build", folder=folder))
    assert lies_beside(exported.onnx)
    assert len(onnx_files.parts(exported.onnx)) == 2
    assert onnx_files.size(exported.onnx) > 64 * 64 * 4


def test_59_a_copy_under_another_name_has_weights_of_that_name(tmp_path: Path, net: Path) -> None:
    onnx_file.save(onnx.load(net / "net.onnx"), str(tmp_path / "one.onnx"), 0)
    (tmp_path / "there").mkdir()
    onnx_files.copy(tmp_path / "one.onnx", tmp_path / "there" / "two.onnx")
    assert sorted(item.name for item in (tmp_path / "there").iterdir()) == ["two.onnx", "two.onnx.data"]
    for tensor in onnx.load(tmp_path / "there" / "two.onnx").graph.initializer:
        np.testing.assert_array_equal(numpy_helper.to_array(tensor), WEIGHTS[tensor.name])


def test_59_a_worker_cannot_have_another_file_read_as_weights(tmp_path: Path, net: Path) -> None:
    onnx_file.save(onnx.load(net / "net.onnx"), str(tmp_path / "model.onnx"), 0)
    graph = onnx.load(tmp_path / "model.onnx", load_external_data=False)
    next(item for item in graph.graph.initializer[0].external_data if item.key == "location").value = "../../secret"
    with pytest.raises(ExportFault, match=r"the exporter wrote weights to '\.\./\.\./secret'"):
        onnx_files.confined(tmp_path / "model.onnx", graph)


def test_shapes_are_inferred_without_the_weights_and_the_weights_come_back(net: Path) -> None:
    model = onnx.load(net / "net.onnx")
    before = {tensor.name: tensor.raw_data for tensor in model.graph.initializer}
    found = onnx_file.without_weights(model, onnx.shape_inference.infer_shapes, inline=0)
    assert {value.name for value in found.graph.value_info} == {"f", "h", "a"}
    assert {tensor.name: tensor.raw_data for tensor in found.graph.initializer} == before
    assert {value.name for value in onnx_file.shapes(found)} == {"f", "h", "a"}
    assert {tensor.name: tensor.raw_data for tensor in found.graph.initializer} == before


def test_a_large_constant_of_a_node_goes_beside_as_well(tmp_path: Path) -> None:
    value = numpy_helper.from_array(np.arange(3000, dtype=np.float32))
    node = helper.make_node("Constant", [], ["c"], value=value)
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3000]) for name in "xy"]
    graph = helper.make_graph([node, helper.make_node("Add", ["x", "c"], ["y"])], "g", ends[:1], ends[1:])
    file = tmp_path / "net.onnx"
    onnx_file.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(file), 4096)
    assert lies_beside(file)
    assert file.stat().st_size < 4096


GIB = 2**30


def embedding(folder: Path, rows: int) -> None:
    """y = the sum of four rows of a table [rows, 1024] in float32, written as a file of its own."""
    table = RANDOM.random((4096, 1024), dtype=np.float32)
    with (folder / "table.bin").open("wb") as file:
        for begin in range(0, rows, len(table)):
            np.add(table, begin).tofile(file)
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> net (int64[batch, 4] x) => (float[batch, 1024] y)'
        " { e = Gather (table, x) y = ReduceMean <axes = [1], keepdims = 0> (e) }"
    )
    tensor = model.graph.initializer.add(name="table", data_type=TensorProto.FLOAT, dims=[rows, 1024])
    tensor.raw_data = b""
    set_external_data(tensor, "table.bin", 0, rows * 1024 * 4)
    tensor.ClearField("raw_data")
    onnx.save(model, folder / "net.onnx")
    np.savez(folder / "samples.npz", x=RANDOM.integers(0, rows, (8, 4)))


@pytest.mark.models
@pytest.mark.timeout(900)
async def test_59_a_model_above_2_gib_is_converted_and_served(
    tools: Tools, tmp_path: Path, convert_files: Callable[..., Awaitable[Proven]]
) -> None:
    rows = 147 * 4096
    embedding(tmp_path, rows)
    assert (tmp_path / "table.bin").stat().st_size > 2 * GIB

    async def here(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    limits = Limits(memory=8 * GIB)
    own = replace(
        tools, exporter=WorkerExporter(here, limits), rewriter=WorkerRewriter(limits), limits=limits,
        serving=TritonServingCheck(),
    )  # fmt: skip
    given = {"weights": "net.onnx", "samples": "samples.npz", "batch_sizes": [1, 2, 3]}
    proven = await convert_files(own, tmp_path, **given)
    served = proven.folder / "triton" / "model" / "1" / "model.onnx"
    assert lies_beside(served / "model.onnx")
    assert onnx_files.size(served / "model.onnx") > 2 * GIB
    assert proven.report.served is not None
    assert proven.report.served.passed
    assert json.loads((proven.folder / "report.json").read_text())["verdict"] == "proven"
    assert all(step.passed for step in proven.report.steps), proven.report.steps
