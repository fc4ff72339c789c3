"""What is done to an exporter's graph before anything else looks at it."""

from __future__ import annotations

import numpy as np
import onnx
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
    with pytest.raises(Fault, match=r"the exporter made 2 inputs \(x, scale\), there should be 1"):
        graphs.rename(scaled, ["image"], ["score"])
    with pytest.raises(Fault, match=r"the exporter made 1 outputs \(y\), there should be 2"):
        graphs.rename(scaled, ["image", "scale"], ["score", "class"])
