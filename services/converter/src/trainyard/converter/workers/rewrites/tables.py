"""Columns of a table on the scale that a model was trained on: (x · scale − mean) / std, in the input's own precision."""

import numpy
from onnx import helper

from trainyard.converter.workers.rewrites.nodes import before


def prepare(graph, block):
    value = next(value for value in graph.input if value.name == block["input"])
    kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)

    def chain(nodes, ready):
        at = block["input"]
        for operator, word, output in (("Mul", "scale", None), ("Sub", "mean", None), ("Div", "std", ready)):
            at = nodes.node(operator, at, nodes.constant(word, numpy.array(block[word], kind)), output=output)

    before(graph, block["input"], chain)
