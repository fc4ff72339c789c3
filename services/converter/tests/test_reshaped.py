"""What is said in another way for other converters computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers.targets.reshaped import normalised, reshaped, settled

X = np.random.default_rng(0).standard_normal((3, 4, 2, 2)).astype(np.float32)
Shape = Sequence[int | str]


def network(nodes: list[onnx.NodeProto], y: Shape, **weights: Any) -> onnx.ModelProto:
    sides = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)]
        for name, dims in (("x", ["batch", 4, 2, 2]), ("y", y))
    ]
    held = [numpy_helper.from_array(np.array(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", *sides, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def answer(model: onnx.ModelProto) -> Any:
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": X})[0]


def test_a_view_by_the_batch_has_its_sizes_in_numbers() -> None:
    """x.view(x.size(0), -1) as torch's older exporter writes it: a trace would keep the batch of its example."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "first"], ["rows"]),
        helper.make_node("Concat", ["rows", "rest"], ["wanted"], axis=0),
        helper.make_node("Reshape", ["x", "wanted"], ["y"]),
    ]
    model = network(nodes, ["batch", 16], first=[0], rest=[-1])
    wanted = answer(model)
    model = reshaped(model)
    (node,) = (node for node in model.graph.node if node.op_type == "Reshape")
    (sizes,) = (tensor for tensor in model.graph.initializer if tensor.name == node.input[1])
    assert numpy_helper.to_array(sizes).tolist() == [-1, 16]
    assert np.array_equal(answer(model), wanted)


@pytest.mark.parametrize(
    ("wanted", "data", "found"),
    [
        (["batch", 8], None, [-1, 8]),
        (["batch", "?"], ["batch", 4, 2], [-1, 8]),
        (["?", "batch"], ["batch", 4, 2], [8, -1]),
        (["batch", 2, "?"], ["batch", 4, 2], [-1, 2, 4]),
        (["a", "b"], ["batch", 4, 2], None),  # which of them is the batch?
        (["", "?"], ["", 4, 2], None),
        (["batch", "?"], ["batch", "width"], None),
        (["batch", "?", "!"], ["batch", 4, 2], None),
        (None, ["batch"], None),
    ],
)
def test_which_size_is_known(wanted: Any, data: Any, found: Any) -> None:
    assert settled(wanted, data) == found


@pytest.mark.parametrize("operator", ["Mul", "Add"])
@pytest.mark.parametrize("order", [["x", "c"], ["c", "x"]])
def test_a_factor_of_channels_is_a_normalisation(operator: str, order: list[str]) -> None:
    constant = np.arange(1, 5, dtype=np.float32).reshape(1, 4, 1, 1)
    model = network([helper.make_node(operator, order, ["y"])], ["batch", 4, 2, 2], c=constant)
    wanted = answer(model)
    (node,) = normalised(model).graph.node
    assert node.op_type == "BatchNormalization"
    assert np.allclose(answer(model), wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 4, 2, 2), (1, 1, 1, 1), (2, 2), (3, 4, 1, 1)])
def test_other_products_stay(shape: tuple[int, ...]) -> None:
    model = network([helper.make_node("Mul", ["x", "c"], ["y"])], ["batch", 4, 2, 2], c=np.ones(shape, np.float32))
    assert [node.op_type for node in normalised(model).graph.node] == ["Mul"]
