"""A free batch from two models of fixed ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.mindspore_batch import freed

X = np.random.default_rng(0).standard_normal((7, 4, 3)).astype(np.float32)


def model(batch: int, rows: int, *nodes: onnx.NodeProto, **weights: Any) -> onnx.ModelProto:
    """As MindSpore writes it: [batch, 4, 3] → [rows, …]."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 4, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, batch * 12 // rows])
    held = [numpy_helper.from_array(np.array(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=4)


RESHAPE = helper.make_node("Reshape", ["x", "sizes"], ["y"])


def constant(*sizes: int) -> onnx.NodeProto:
    return helper.make_node("Constant", [], ["sizes"], value=numpy_helper.from_array(np.array(sizes)))


PAIRS = {
    "the batch itself": [model(batch, batch, RESHAPE, sizes=[batch, 12]) for batch in (2, 3)],
    "the batch beside a size that is told by the others": [
        model(batch, batch, RESHAPE, sizes=[batch, -1]) for batch in (2, 3)
    ],
    "rows of a batch that is split": [model(batch, batch * 4, RESHAPE, sizes=[batch * 4, 3]) for batch in (2, 3)],
    "sizes of a node": [model(batch, batch, constant(batch, 12), RESHAPE) for batch in (2, 3)],
    "a constant that is repeated for each row": [
        model(
            batch,
            batch,
            helper.make_node("Add", ["x", "state"], ["sum"]),
            helper.make_node("Flatten", ["sum"], ["y"]),
            state=np.zeros((batch, 4, 3), np.float32),
        )
        for batch in (2, 3)
    ],
    "nothing": [model(batch, batch, helper.make_node("Flatten", ["x"], ["y"])) for batch in (2, 3)],
}


@pytest.mark.parametrize("what", PAIRS)
def test_what_follows_the_batch_is_free(what: str) -> None:
    free = freed(*PAIRS[what], (2, 3))
    onnx.checker.check_model(free, full_check=True)
    found = onnxruntime.InferenceSession(free.SerializeToString()).run(None, {"x": X})[0]
    assert found.shape[0] in {7, 28}
    assert np.array_equal(found.reshape(-1), X.reshape(-1))


ADDED = [helper.make_node("Add", ["x", "shift"], ["sum"]), helper.make_node("Flatten", ["sum"], ["y"])]


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        (
            [model(b, b, *ADDED, shift=np.arange(b, dtype=np.float32).reshape(b, 1, 1)) for b in (2, 3)],
            "the constant 'shift' depends on the batch",
        ),
        (
            [model(2, 2, RESHAPE, sizes=[2, 12]), model(3, 3, RESHAPE, sizes=[4, 9])],
            "the constant 'sizes' depends on the batch",
        ),
        (
            [model(batch, batch, helper.make_node("Flatten", ["x"], ["y"], axis=batch - 1)) for batch in (2, 3)],
            "axis of Flatten 'y' depends on the batch",
        ),
        ([PAIRS["nothing"][0], PAIRS["the batch itself"][1]], "another graph for another batch"),
    ],
    ids=["a constant with another number for each row", "sizes out of step", "an attribute", "another graph"],
)
def test_what_depends_on_the_batch_in_another_way_is_named(pair: list[onnx.ModelProto], words: str) -> None:
    with pytest.raises(Fault, match=words):
        freed(*pair, (2, 3))
