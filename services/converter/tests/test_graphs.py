"""What is done to an exporter's graph before anything else looks at it."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers import graphs
from trainyard.converter.workers.frame import Fault


@pytest.fixture
def scaled() -> onnx.ModelProto:
    """y = x · scale, whose exporter took the scale for an input."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in "xy"]
    scale = helper.make_tensor_value_info("scale", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Mul", ["x", "scale"], ["y"])], "net", [values[0], scale], [values[1]])
    return helper.make_model(graph)


def test_an_array_that_a_function_has_captured_is_no_input(scaled: onnx.ModelProto) -> None:
    graphs.hold(scaled, {"scale": np.array([2, 3], np.float32), "other": np.zeros(1)})
    graphs.rename(scaled, ["image"], ["score"])
    assert [value.name for value in (*scaled.graph.input, *scaled.graph.output)] == ["image", "score"]
    (held,) = scaled.graph.initializer
    assert (held.name, numpy_helper.to_array(held).tolist()) == ("scale", [2, 3])


def test_names_are_not_given_to_what_nobody_has_named(scaled: onnx.ModelProto) -> None:
    with pytest.raises(Fault, match=r"the exporter made 2 inputs \(x of Mul, scale of Mul\), there should be 1"):
        graphs.rename(scaled, ["image"], ["score"])
    with pytest.raises(Fault, match=r"the exporter made 1 outputs \(y\), there should be 2"):
        graphs.rename(scaled, ["image", "scale"], ["score", "class"])


def test_a_scalar_among_what_is_joined_is_a_vector_of_one() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["rows"]),  # a scalar
        helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    sides = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)] for name, dims in (("x", "ab"), ("y", "abc"))
    ]
    weights = [
        numpy_helper.from_array(np.array(value, np.int64), name) for name, value in (("zero", 0), ("rest", [-1, 2]))
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "net", *sides, weights), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    graphs.join_scalars(model)
    onnx.checker.check_model(model, full_check=True)
    (y,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": np.ones((3, 4), np.float32)})
    assert y.shape == (3, 2, 2)
