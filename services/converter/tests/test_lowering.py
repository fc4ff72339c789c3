"""A smaller graph and a lower precision, by the real workers on ONNX files made here.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser
from pydantic import ValidationError

from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.conversion import Proven
from trainyard.converter.ports import ExportRequest, RewriteRequest, Rewritten
from trainyard.converter.preparation import ConversionFault, Tools

pytestmark = pytest.mark.integration

RANDOM = np.random.default_rng(0)
Weights = dict[str, Any]
Run = Callable[..., Awaitable[Proven]]
MLP = """net (float[batch, 16] x) => (float[batch, 4] y) {
    h = Gemm (x, w1, b1)
    a = Relu (h)
    y = Gemm (a, w2, b2)
}"""


def mlp(**changes: Any) -> Weights:
    shapes = {"w1": (16, 32), "b1": (32,), "w2": (32, 4), "b2": (4,)}
    made = {name: RANDOM.standard_normal(shape).astype(np.float32) / 4 for name, shape in shapes.items()}
    return {**made, **changes}


async def own(request: ExportRequest) -> Path:
    del request
    return Path(sys.executable)


@pytest.fixture
def run(tools: Tools, convert_files: Run, tmp_path: Path) -> Run:
    async def one(
        text: str,
        weights: Weights | None = None,
        samples: Weights | None = None,
        rewriter: WorkerRewriter | None = None,
        **block: Any,
    ) -> Proven:
        save(tmp_path / "net.onnx", text, weights or {})
        if samples:
            np.savez(tmp_path / "samples.npz", **samples)
            block["samples"] = "samples.npz"
        used = replace(tools, exporter=WorkerExporter(own), rewriter=rewriter or WorkerRewriter())
        return await convert_files(used, tmp_path, weights="net.onnx", **block)

    return one


def save(path: Path, text: str, weights: Weights) -> None:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    onnx.save(model, path)


FOLDABLE = """net (float[batch, 16] x) => (float[batch, 16] y) {
    one = Identity (w)
    two = Add (one, w)
    lost = Neg (x)
    y = Mul (x, two)
}"""


async def test_an_optimised_model_is_smaller_and_equal(run: Run) -> None:
    proven = await run(FOLDABLE, {"w": np.ones(16, np.float32)}, optimise=True)
    assert proven.report.operators == {"Mul": 1}
    assert "4 nodes became 1 by onnxslim" in proven.report.steps[1].message
    assert {(item.model, item.batch) for item in proven.report.timings} >= {("as exported", 1), ("model.onnx", 32)}
    assert all(item.p50_ms <= item.p99_ms for item in proven.report.timings)


class Wrong(WorkerRewriter):
    """An optimiser that writes this model, whatever it is given."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    async def rewrite(self, request: RewriteRequest) -> Rewritten:
        save(request.folder / "model.onnx", self._text, {})
        return Rewritten(request.folder / "model.onnx", "careless 1")


TWO = "net (float[batch, 3] x) => (float[batch, 3] y, float[batch, 3] z)"
RIGHT = f"{TWO} {{ y = Neg (x) t = Sin (x) z = Neg (t) }}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"{TWO} {{ y = Neg (x) t = Cos (x) z = Neg (t) }}", r"the numbers differ: .*output z: .*it begins at Sin 't'"),
        ("net (float[batch, 3] x) => (float[batch, 3] y) { y = Neg (x) }", "inputs or outputs are others than before"),
        (f"{TWO} {{ y = Neg (x) z = Negate (x) }}", "operators that ONNX does not have: Negate"),
    ],
    ids=["other numbers", "an output less", "no ONNX"],
)
async def test_52_what_an_optimiser_breaks_is_taken_back(run: Run, text: str, fault: str) -> None:
    report = (await run(RIGHT, rewriter=Wrong(text), optimise=True)).report
    (step,) = [step for step in report.steps if step.name == "optimise"]
    assert not step.passed
    assert re.search(f"taken back: .*{fault}", step.message)
    assert report.operators == {"Neg": 2, "Sin": 1}


async def test_half_precision_is_served_with_the_inputs_that_were_there(run: Run) -> None:
    report = (await run(MLP, mlp(), precision="float16")).report
    assert report.lowered is not None
    assert report.lowered.kept == []
    assert report.lowered.bytes_after < report.lowered.bytes_before
    assert {file.path for file in report.files} >= {"model.onnx", "model.float16.onnx", "triton/model/1/model.onnx"}
    sizes = {file.path: file.sha256 for file in report.files}
    assert sizes["triton/model/1/model.onnx"] == sizes["model.float16.onnx"]
    assert report.served is not None
    assert report.served.passed
    assert {item["dtype"] for item in report.inputs + report.outputs} == {"float32"}


async def test_weights_in_bfloat16_are_half_as_large(run: Run) -> None:
    proven = await run(MLP, mlp(), precision="bfloat16")
    lowered = proven.report.lowered
    assert lowered is not None
    assert lowered.kept == []
    assert lowered.bytes_after < 0.7 * lowered.bytes_before
    model = onnx.load(proven.folder / "model.bfloat16.onnx")
    kinds = {item.name.removesuffix("_bfloat16"): item.data_type for item in model.graph.initializer}
    assert {kinds[name] for name, value in mlp().items() if value.size >= 16} == {onnx.TensorProto.BFLOAT16}
    assert (lowered.max_abs_error or 0) > 0
    assert proven.report.served is not None
    assert proven.report.served.passed


async def test_what_bfloat16_costs_too_much_stays_as_it_was(run: Run) -> None:
    """A small difference of large numbers is nothing but the rounding of the weights."""
    text = """net (float[batch, 4] x) => (float[batch, 8] y) {
        tall = MatMul (x, a)
        low = MatMul (x, b)
        small = Sub (tall, low)
        y = MatMul (small, c)
    }"""
    random = np.random.default_rng(3)
    a, c = random.uniform(1, 2, (4, 64)).astype(np.float32), random.random((64, 8), np.float32)
    weights = {"a": a, "b": a + random.uniform(1e-4, 1e-3, (4, 64)).astype(np.float32), "c": c}
    report = (await run(text, weights, precision="bfloat16", samples={"x": random.random((64, 4), np.float32)})).report
    assert report.lowered is not None
    assert set(report.lowered.kept) == {"tall", "low", "small"}


async def test_53_what_overflows_in_half_precision_stays_as_it_was(run: Run) -> None:
    """300² is above what float16 holds, its root's mean is not."""
    text = """net (float[batch, 8] x) => (float[batch, 1] y) {
        square = Mul (x, x)
        mean = ReduceMean <axes = [1]> (square)
        y = Sqrt (mean)
    }"""
    samples = {"x": RANDOM.uniform(200, 400, (40, 8)).astype(np.float32)}
    lowered = (await run(text, samples=samples, precision="float16")).report.lowered
    assert lowered is not None
    assert "square" in lowered.kept


async def test_int8_by_samples_and_their_labels(run: Run) -> None:
    """The class is the largest of the first four columns, which is larger by two."""
    labels, x = RANDOM.integers(0, 4, 400), RANDOM.uniform(0, 1, (400, 16)).astype(np.float32)
    x[np.arange(400), labels] += 3
    straight = {"w1": np.eye(16, 32, dtype=np.float32), "w2": np.eye(32, 4, dtype=np.float32)}
    weights, samples = mlp(**straight), {"x": x, "labels": labels}
    lowered = (await run(MLP, weights, samples, precision="int8", batch_sizes=[1, 2, 7])).report.lowered
    assert lowered is not None
    assert lowered.accuracy_before == 1.0
    assert lowered.accuracy_after is not None
    assert lowered.accuracy_after >= 0.99
    assert lowered.max_abs_error is not None
    assert lowered.max_abs_error > 0


async def test_54_what_int8_costs_too_much_stays_as_it_was(run: Run) -> None:
    """In the middle one column is 10,000 times as large as the others and counts as much: one range cannot hold both."""
    text = """net (float[batch, 4, 16] x) => (float[batch, 4, 16] y) {
        a = MatMul (x, w1)
        b = MatMul (a, w2)
        c = MatMul (b, w3)
        d = Relu (c)
        y = MatMul (d, w4)
    }"""
    scale = np.ones(16, np.float32)
    scale[0] = 1e4
    w1, w2, w3, w4 = (RANDOM.standard_normal((16, 16)).astype(np.float32) / 4 for _ in range(4))
    weights = {"w1": w1, "w2": w2 * scale, "w3": (w3.T / scale).T, "w4": w4}
    x = RANDOM.standard_normal((100, 4, 16)).astype(np.float32)
    report = (await run(text, weights, {"x": x}, precision="int8", batch_sizes=[1, 2, 7])).report
    first = next(step for step in report.steps if step.name == "int8")
    assert not first.passed
    assert re.search("cosine|zeros", first.message)
    assert report.lowered is not None
    assert report.lowered.kept


async def test_int8_as_each_request_comes(run: Run) -> None:
    lowered = (await run(MLP, mlp(), precision="int8-dynamic")).report.lowered
    assert lowered is not None
    assert lowered.max_abs_error is not None
    assert lowered.max_abs_error > 0


async def test_what_cannot_be_lowered_is_refused_before_or_after(run: Run) -> None:
    with pytest.raises(ValidationError, match=r"int8 takes the range of every tensor from samples: give some"):
        await run(MLP, mlp(), precision="int8")
    with pytest.raises(ConversionFault, match="cannot be computed in int8-dynamic: nothing in it can be") as caught:
        await run(RIGHT, precision="int8-dynamic")
    assert caught.value.reason == "precision"
