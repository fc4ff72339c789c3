"""What is done to outputs, and to the columns of a table, as part of what is served: the blocks that fit, and the graph.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from trainyard.common.contract.conversions import Columns, Postprocessing, TensorSpec
from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven
from trainyard.converter.core import postprocessing, preprocessing
from trainyard.converter.core.triton import Tensor
from trainyard.converter.ports import ExportRequest, RewriteRequest, Rewritten
from trainyard.converter.preparation import ConversionFault, Tools

Run = Callable[..., Awaitable[Proven]]
NET = """<ir_version: 8, opset_import: ["" : {opset}]>
net (float[batch, 4] x) => (float[batch, 3] y, float[batch, 1] z) {{
    y = MatMul (x, w)
    z = ReduceMean <axes = [1]> (x)
}}"""
W = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
X = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)


def block(**changes: Any) -> Postprocessing:
    return Postprocessing.model_validate({"output": "y", **changes})


@pytest.fixture
def run(tools: Tools, convert_files: Run, tmp_path: Path) -> Run:
    async def own(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    async def one(rewriter: WorkerRewriter | None = None, opset: int = 17, **changes: Any) -> Proven:
        model = parser.parse_model(NET.format(opset=opset))
        model.graph.initializer.append(numpy_helper.from_array(W, "w"))
        onnx.save(model, tmp_path / "net.onnx")
        exporter, serving = WorkerExporter(own), TritonServingCheck()
        used = replace(tools, exporter=exporter, serving=serving, rewriter=rewriter or WorkerRewriter())
        return await convert_files(used, tmp_path, **{"weights": "net.onnx", "batch_sizes": [1, 2, 5], **changes})

    return one


def softmax(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    powers = np.exp(values)
    found: np.ndarray[Any, Any] = powers / powers.sum(-1, keepdims=True)
    return found


Y = X @ W
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "probabilities": ({"activation": "softmax"}, {"y": softmax(Y)}),
    "independent probabilities": ({"activation": "sigmoid"}, {"y": 1 / (1 + np.exp(-Y))}),
    "with the logits": ({"activation": "softmax", "keep": True}, {"y_raw": Y, "y": softmax(Y)}),
    "the largest": (
        {"top": 1},
        {"y_scores": Y.max(1, keepdims=True), "y_indices": Y.argmax(1)[:, None]},
    ),
    "the two likeliest": (
        {"activation": "softmax", "top": 2},
        {"y_scores": -np.sort(-softmax(Y))[:, :2], "y_indices": np.argsort(-Y)[:, :2]},
    ),
    "by a temperature": ({"scale": [0.5], "activation": "softmax"}, {"y": softmax(Y / 2)}),
    "in the units of each column": (
        {"scale": [2.0, 10.0, 0.1], "shift": [1.0, 0.0, -3.0]},
        {"y": Y * [2, 10, 0.1] + [1, 0, -3]},
    ),
}


@pytest.mark.integration
@pytest.mark.parametrize("kind", CASES)
async def test_51_outputs_are_served_as_the_block_says(run: Run, kind: str) -> None:
    changes, wanted = CASES[kind]
    proven = await run(postprocessing=[{"output": "y", **changes}])
    found = Runtime(proven.serves).run({"x": X})
    assert list(found) == [*wanted, "z"]
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)
    assert proven.report.served is not None
    assert proven.report.served.passed
    assert proven.report.contract is not None
    assert [item["name"] for item in proven.report.contract.outputs] == [*wanted, "z"]
    assert [item["name"] for item in proven.report.outputs] == ["y", "z"]
    assert "As it is served" in (proven.folder / "report.html").read_text()
    assert proven.config is not None
    assert proven.config.max_batch_size == 5


@pytest.mark.integration
async def test_51_a_table_is_served_as_it_was_measured(run: Run) -> None:
    mean, std = [10.0, -3.0, 0.0, 500.0], [2.0, 0.1, 1.0, 80.0]
    proven = await run(
        columns=[{"input": "x", "mean": mean, "std": std}], postprocessing=[{"output": "z", "scale": [3.0]}]
    )
    measured = (X * std + mean).astype(np.float32)
    found = Runtime(proven.serves).run({"x": measured})
    np.testing.assert_allclose(found["y"], Y, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(found["z"], 3 * X.mean(1, keepdims=True), rtol=1e-3, atol=1e-3)
    assert proven.report.served is not None
    assert proven.report.served.passed
    assert "columns, batch 2" in {item["case"] for item in proven.report.comparisons}


class Careless(WorkerRewriter):
    """Writes a block that is not the one that was asked for."""

    def __init__(self, **changes: Any) -> None:
        super().__init__()
        self.changes = changes

    async def rewrite(self, request: RewriteRequest) -> Rewritten:
        blocks = [{**item, **self.changes} for item in request.options["postprocessing"]]
        return await super().rewrite(replace(request, options={**request.options, "postprocessing": blocks}))


@pytest.mark.integration
@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ({"activation": "softmax"}, {"activation": "sigmoid"}),
        ({"scale": [2.0]}, {"scale": [2.1]}),
        ({"top": 2}, {"scale": [-1.0]}),
    ],
    ids=["another function", "another scale", "the smallest"],
)
async def test_51_a_graph_that_does_something_else_is_refused(
    run: Run, asked: dict[str, Any], written: dict[str, Any]
) -> None:
    with pytest.raises(ConversionFault, match="the numbers differ from what is done outside of the graph") as caught:
        await run(Careless(**written), postprocessing=[{"output": "y", **asked}])
    assert caught.value.reason == "ends"


@pytest.mark.integration
async def test_an_operator_set_without_a_softmax_of_one_axis_is_refused(run: Run) -> None:
    with pytest.raises(ConversionFault, match="it takes operators of set 13, the model is in 11"):
        await run(opset=11, postprocessing=[{"output": "y", "activation": "softmax"}])


@pytest.mark.integration
async def test_51_other_formats_finish_outputs_as_well(run: Run, tools: Tools, onnx_to_torch_python: Path) -> None:
    async def environment(name: str) -> Path:
        del name
        return onnx_to_torch_python

    object.__setattr__(tools, "targets", WorkerTargetWriter(environment))
    proven = await run(
        to=["torch", "torchscript"],
        columns=[{"input": "x", "mean": [1.0], "std": [2.0]}],
        postprocessing=[{"output": "y", "activation": "softmax", "top": 2, "keep": True}],
    )
    assert [(item.target, item.passed) for item in proven.report.targets] == [("torch", True), ("torchscript", True)]
    outputs = {item["output"] for item in proven.report.targets[0].comparisons}
    assert outputs == {"y_raw", "y_scores", "y_indices", "z"}


OUTPUTS = [Tensor("y", "float32", (-1, 3)), Tensor("n", "int64", (-1, 3)), Tensor("s", "float32", (-1,))]


@pytest.mark.parametrize(
    ("changes", "labels", "words"),
    [
        ({"output": "w"}, (), "there is no output 'w' .*there are: y, n, s"),
        ({"output": "n"}, (), r"int64 \[-1, 3\] are no floats"),
        ({"output": "s", "activation": "softmax"}, (), r"float32 \[-1\] has no classes on axis -1"),
        ({"activation": "softmax", "axis": 0}, (), "has no classes on axis 0"),
        ({"top": 4}, (), "the largest 4 of 3 classes"),
        ({"scale": [1.0, 2.0]}, (), r"2 numbers of scale for float32 \[-1, 3\]"),
        ({"top": 1}, ("a", "b", "c"), "labels name the classes of 'y', of which only the largest 1 would be left"),
    ],
)
def test_a_block_that_does_not_fit_is_refused(changes: dict[str, Any], labels: tuple[str, ...], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        postprocessing.check([block(**changes)], OUTPUTS, labels)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"input": "w"}, "there is no input 'w'"),
        ({"mean": [1.0, 2.0]}, r"2 numbers of mean for an input of \['batch', 4\]"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(changes: dict[str, Any], words: str) -> None:
    table = Columns.model_validate({"input": "x", **changes})
    with pytest.raises(InvalidInput, match=words):
        preprocessing.check((), [TensorSpec(name="x", shape=("batch", 4))], [table])


@pytest.mark.parametrize(
    ("places", "passes"),
    [([[0, 1]], True), ([[1, 0]], True), ([[0, 2]], False), ([[0, 0]], False), ([[0, 3]], False)],
    ids=["as the framework has it", "equal ones swapped", "a smaller one", "one twice", "none that there is"],
)
def test_places_are_right_where_the_framework_scores_as_much(places: list[list[int]], passes: bool) -> None:
    raw = {"y": np.array([[2.0, 2.0, 1.0]], np.float32)}
    found = {"y_scores": np.array([[2.0, 2.0]], np.float32), "y_indices": np.array(places, np.int64)}
    reference, at = postprocessing.pairs([block(top=2)], raw, found)["y_indices"]
    assert np.array_equal(reference, at) is passes
