"""What is said in the words of operator set 15 computes the same, and what cannot be said in them is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.targets.older_set import OPSET, brought, version

X = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)
ELEMENTWISE = {"Add", "Sub", "Mul", "Div", "Sqrt", "Sum", "Relu", "Erf"}
KNOWN = {*ELEMENTWISE, "Identity", "Constant", "Cast", "ReduceMean", "ReduceMax"}


def network(opset: int, *nodes: onnx.NodeProto, **weights: Any) -> onnx.ModelProto:
    held = [numpy_helper.from_array(np.array(value), name) for name, value in weights.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4, 5])
    graph = helper.make_graph(nodes, "net", [x], [helper.make_empty_tensor_value_info("y")], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    model.graph.output[0].CopyFrom(onnx.shape_inference.infer_shapes(model).graph.output[0])
    return model


def answer(model: onnx.ModelProto) -> Any:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": X})[0]


ROW = np.arange(1, 6, dtype=np.float32)
TABLE = np.arange(20, dtype=np.float32).reshape(4, 5)
CASES = {
    "axes that are an input": network(
        18, helper.make_node("ReduceMean", ["x", "axes"], ["y"], keepdims=0), axes=[1, -1]
    ),
    "axes that are a node": network(
        18,
        helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(np.array([1]))),
        helper.make_node("ReduceMax", ["x", "axes"], ["y"]),
    ),
    "no axes": network(18, helper.make_node("ReduceMean", ["x"], ["y"])),
    "no axes and nothing to do": network(18, helper.make_node("ReduceMean", ["x"], ["y"], noop_with_empty_axes=1)),
    "a norm over the last": network(
        17, helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["y"], epsilon=0.01), scale=ROW, shift=ROW
    ),
    "a norm over the last two, without a shift": network(
        20, helper.make_node("LayerNormalization", ["x", "scale"], ["y"], axis=1), scale=TABLE
    ),
    "a function of a newer set": network(20, helper.make_node("Gelu", ["x"], ["y"])),
    "a set that is old enough": network(11, helper.make_node("Relu", ["x"], ["y"])),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_said_in_the_older_set_computes_the_same(name: str) -> None:
    wanted = answer(CASES[name])
    model = brought(CASES[name], KNOWN)
    onnx.checker.check_model(model, full_check=True)
    assert version(model) <= OPSET
    assert {node.op_type for node in model.graph.node} <= KNOWN
    np.testing.assert_allclose(answer(model), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            network(
                18, helper.make_node("Shape", ["x"], ["axes"]), helper.make_node("ReduceMean", ["x", "axes"], ["y"])
            ),
            r"the axes of ReduceMean 'y' are computed, not constant",
        ),
        (
            network(18, helper.make_node("Pad", ["x", "pads", "", "axes"], ["y"]), pads=[1, 1], axes=[1]),
            r"cannot be said in operator set 15: .*Pad",
        ),
    ],
    ids=["computed axes", "a newer form of an operator"],
)
def test_what_the_older_set_has_no_words_for_is_named(model: onnx.ModelProto, words: str) -> None:
    with pytest.raises(Fault, match=words):
        brought(model, {*KNOWN, "Shape", "Pad"})
