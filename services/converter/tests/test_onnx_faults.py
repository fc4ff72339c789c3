"""Faults that users reported of ONNX files and of what serves them, through a whole conversion of the file.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

from trainyard.converter.adapters import onnx_model
from trainyard.converter.conversion import Proven
from trainyard.converter.core import ladder
from trainyard.converter.ports import ExportFault
from trainyard.converter.preparation import ConversionFault

pytestmark = pytest.mark.integration

LIMITS = ladder.limits(version("onnxruntime"))
Run = Callable[..., Awaitable[Proven]]


@pytest.fixture
def run(convert_with: Run, tmp_path: Path) -> Run:
    async def one(
        text: str, opset: int = 17, ir: int = 8, weights: dict[str, Any] | None = None, imports: str = "", **block: Any
    ) -> Proven:
        model = parser.parse_model(f'<ir_version: {ir}, opset_import: ["" : {opset}{imports}]> {text}')
        model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in (weights or {}).items())
        onnx.save(model, tmp_path / "net.onnx")
        return await convert_with(Path(sys.executable), tmp_path, weights="net.onnx", **block)

    return one


FOUR = {name: np.ones(4, np.float32) for name in ("scale", "bias", "mean", "var")}


@pytest.mark.parametrize(
    ("text", "weights", "node"),
    [
        (
            "y, m, v = BatchNormalization<training_mode=1>(x, scale, bias, mean, var)",
            FOUR,
            "BatchNormalization",
        ),
        (
            "y = Dropout(x, ratio, training)",
            {"ratio": np.array(0.5, np.float32), "training": np.array(True)},
            "Dropout",
        ),
    ],
)
async def test_11_what_is_still_in_training_is_refused(run: Run, text: str, weights: dict[str, Any], node: str) -> None:
    words = rf"{node} 'y' is in training mode: export the model in evaluation mode"
    with pytest.raises(ConversionFault, match=words) as caught:
        await run(f"g (float[n,4] x) => (float[n,4] y) {{ {text} }}", weights=weights)
    assert caught.value.reason == "model"


async def test_19_a_set_that_the_runtime_lacks_is_not_stamped_as_another(run: Run) -> None:
    with pytest.raises(ConversionFault, match=r"is written in opset 99, the newest known here is \d+: export"):
        await run("g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }", opset=99)


@pytest.mark.parametrize("opset", [7, 11])
async def test_19_an_old_set_is_taken_as_it_is(run: Run, opset: int) -> None:
    proven = await run("g (float[n,4] x) => (float[n,4] y) { y = Softmax<axis=1>(x) }", opset=opset, ir=6)
    assert proven.report.opset == opset


async def test_20_a_newer_layout_is_written_as_the_runtime_knows_it(run: Run) -> None:
    proven = await run("g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }", ir=onnx.IR_VERSION)
    assert proven.report.ir_version is not None
    assert proven.report.ir_version <= LIMITS.ir_version
    assert onnx.load(proven.folder / "model.onnx").ir_version <= LIMITS.ir_version


async def test_42_a_list_of_maps_is_no_output(run: Run) -> None:
    text = "g (float[n,2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s=[0,1]>(x) }"
    with pytest.raises(ConversionFault, match="output 'y' is a list, which is no tensor"):
        await run(text, imports=', "ai.onnx.ml" : 1')


async def test_56_a_fixed_batch_is_not_merged(run: Run) -> None:
    proven = await run("g (float[2,4] x) => (float[2,4] y) { y = Relu(x) }")
    assert proven.config is not None
    assert proven.config.max_batch_size == 0
    assert proven.config.inputs[0].shape == (2, 4)
    assert "requests are served one by one: input 'x' has no batch" in proven.report.notes


async def test_57_an_output_without_a_batch_has_the_models_own_shape(run: Run) -> None:
    text = "g (float[n,4] x) => (float[4] y, float[n,4] z) { y = ReduceMax<axes=[0], keepdims=0>(x) z = Relu(x) }"
    proven = await run(text)
    assert proven.config is not None
    assert proven.config.max_batch_size == 0
    assert [item.shape for item in proven.config.outputs] == [(4,), (-1, 4)]
    assert proven.report.served is not None
    assert proven.report.served.passed


async def test_57_one_number_for_each_row_is_served_in_batches(run: Run) -> None:
    text = "g (float[n,4] x) => (float[n] y, float[n,4] z) { y = ReduceMax<axes=[1], keepdims=0>(x) z = Relu(x) }"
    proven = await run(text)
    assert proven.config is not None
    assert proven.config.max_batch_size == 32
    assert proven.report.served is not None
    assert proven.report.served.passed


async def test_57_scalars_are_served_with_a_dimension_of_one(run: Run) -> None:
    text = "g (float[n,4] x, float s) => (float[n,4] y, float m) { y = Mul(x, s) m = ReduceMax<keepdims=0>(y) }"
    proven = await run(text)
    assert proven.config is not None
    assert {item.name: item.shape for item in (*proven.config.inputs, *proven.config.outputs)} == {
        "x": (-1, 4), "s": (1,), "y": (-1, 4), "m": (1,)
    }  # fmt: skip
    assert [item["shape"] for item in proven.report.inputs] == [(-1, 4), ()]
    assert proven.report.served is not None
    assert proven.report.served.passed


async def test_19_a_set_that_the_runtime_takes_is_served_whatever_older_ones_take(run: Run) -> None:
    newest = min(LIMITS.opset, onnx.defs.onnx_opset_version())
    proven = await run("g (float[n,4] x) => (float[n,4] y) { y = Relu(x) }", opset=newest, ir=LIMITS.ir_version)
    assert proven.report.opset == newest > ladder.portable().opset


async def test_47_inputs_and_outputs_keep_their_names_and_their_order(run: Run) -> None:
    text = "g (float[n,4] left, float[n,4] a) => (float[n,4] z, float[n,4] b) { b = Sub(left, a) z = Sub(a, left) }"
    proven = await run(text)
    assert [item["name"] for item in proven.report.inputs] == ["left", "a"]
    assert [item["name"] for item in proven.report.outputs] == ["z", "b"]


def test_27_what_is_unknown_inside_a_branch_is_named(tmp_path: Path) -> None:
    """Before anything infers shapes, which would stumble over what follows from it."""
    model = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> net (bool c, float[2] x) => (float[2] y) {
            y = If (c) <then_branch = one () => (t) { t = TensorListStack (x) },
                else_branch = other () => (e) { e = Neg (x) }>
        }"""
    )
    onnx.save(model, tmp_path / "net.onnx")
    with pytest.raises(ExportFault, match=r"does not have: TensorListStack \(node 't'\)"):
        onnx_model.read(tmp_path / "net.onnx", LIMITS)
