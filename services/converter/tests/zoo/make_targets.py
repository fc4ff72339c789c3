"""Small ONNX models of the kinds that other formats stumble over; each is made, not trained, and has a free batch."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(0)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Declared = list[tuple[str, int, list[str | int]]]


def weight(name: str, *shape: int) -> TensorProto:
    values: npt.NDArray[np.float32] = (RANDOM.standard_normal(shape) * 0.1).astype(np.float32)
    return numpy_helper.from_array(values, name)


def constant(name: str, value: object, dtype: type = np.int64) -> TensorProto:
    return numpy_helper.from_array(np.array(value, dtype), name)


def save(
    path: Path, nodes: list[onnx.NodeProto], inputs: Declared, outputs: Declared, weights: list[TensorProto]
) -> None:
    sides = [[helper.make_tensor_value_info(*value) for value in side] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "network", *sides, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def convolutional(path: Path) -> None:
    """Convolution and pooling of `input.1`, joined with a doubled `second`. The feature map is an output too, in NCHW, and of
    equal sizes, which do not tell its layout."""
    nodes = [
        helper.make_node("Conv", ["input.1", "kernel", "bias"], ["convolved"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["convolved"], ["features:0"]),
        helper.make_node("GlobalAveragePool", ["features:0"], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Mul", ["second", "two"], ["doubled"]),
        helper.make_node("Concat", ["flat", "doubled"], ["joined"], axis=1),
        helper.make_node("Gemm", ["joined", "last", "shift"], ["logits"]),
    ]
    save(
        path,
        nodes,
        [("input.1", FLOAT, ["batch", 3, 8, 8]), ("second", FLOAT, ["batch", 5])],
        [("logits", FLOAT, ["batch", 4]), ("features:0", FLOAT, ["batch", 8, 8, 8])],
        [
            weight("kernel", 8, 3, 3, 3),
            weight("bias", 8),
            weight("last", 13, 4),
            weight("shift", 4),
            constant("two", 2, np.float32),
        ],
    )


def attentive(path: Path) -> None:
    """Embedded ids, two heads of attention, a norm, the mean over the places."""
    nodes = [helper.make_node("Gather", ["table", "ids"], ["x"])]
    for letter, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            helper.make_node("MatMul", ["x", f"w{letter}"], [f"{letter}0"]),
            helper.make_node("Reshape", [f"{letter}0", "heads"], [f"{letter}1"]),
            helper.make_node("Transpose", [f"{letter}1"], [letter], perm=order),
        ]
    nodes += [
        helper.make_node("MatMul", ["q", "k"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "v"], ["mixed"]),
        helper.make_node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["back", "whole"], ["joined"]),
        helper.make_node("LayerNormalization", ["joined", "scale", "offset"], ["normed"], axis=-1),
        helper.make_node("ReduceMean", ["normed"], ["y"], axes=[1], keepdims=0),
    ]
    save(
        path,
        nodes,
        [("ids", INT64, ["batch", 7])],
        [("y", FLOAT, ["batch", 8])],
        [
            weight("table", 50, 8),
            *(weight(f"w{letter}", 8, 8) for letter in "qkv"),
            weight("scale", 8),
            weight("offset", 8),
            constant("heads", [0, 7, 2, 4]),
            constant("whole", [0, 7, 8]),
        ],
    )


if __name__ == "__main__":
    convolutional(Path(sys.argv[1]) / "convolutional.onnx")
    attentive(Path(sys.argv[1]) / "attentive.onnx")
