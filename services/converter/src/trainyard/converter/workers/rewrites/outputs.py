"""What is done to an output, as the last nodes of the model: scaled, as probabilities, the largest of them.

Names are those of `core.postprocessing`.
"""

import numpy
import onnx
from onnx import helper

from trainyard.converter.workers.graphs import apply
from trainyard.converter.workers.rewrites.nodes import Nodes


def finish(graph, block):
    name = block["output"]
    place = next(at for at, value in enumerate(graph.output) if value.name == name)
    nodes = Nodes(graph, name)
    raw = nodes.name("plain")
    value = onnx.ValueInfoProto()
    value.CopyFrom(graph.output[place])
    apply(graph, {name: raw})
    given = []
    if block["keep"]:
        nodes.node("Identity", raw, output=f"{name}_raw")
        given.append(named(value, f"{name}_raw"))
    scores = scored(nodes, block, raw, value.type.tensor_type.elem_type)
    if block["top"]:
        given += largest(nodes, block, scores, value)
    else:
        nodes.node("Identity", scores, output=name)
        given.append(value)
    graph.initializer.extend(nodes.constants)
    graph.node.extend(nodes.nodes)
    outputs = [*graph.output[:place], *given, *graph.output[place + 1 :]]
    kept = [named(item, item.name) for item in outputs]
    del graph.output[:]
    graph.output.extend(kept)


def scored(nodes, block, at, kind):
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    for operator, word, nothing in (("Mul", "scale", 1), ("Add", "shift", 0)):
        if set(block[word]) != {nothing}:
            at = nodes.node(operator, at, nodes.constant(word, numpy.array(block[word], dtype)))
    if block["activation"] == "softmax":
        at = nodes.node("Softmax", at, axis=block["axis"])
    elif block["activation"] == "sigmoid":
        at = nodes.node("Sigmoid", at)
    return at


def largest(nodes, block, scores, value):
    """Declared as the output was, but for the size of the axis."""
    names = [f"{block['output']}_{word}" for word in ("scores", "indices")]
    count = nodes.constant("top", numpy.int64([block["top"]]))
    node = helper.make_node("TopK", [scores, count], names, name=nodes.name("topk"), axis=block["axis"])
    nodes.nodes.append(node)
    found = [named(value, name) for name in names]
    for item in found:
        dim = item.type.tensor_type.shape.dim[block["axis"]]
        dim.Clear()
        dim.dim_value = block["top"]
    found[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    return found


def named(value, name):
    copy = onnx.ValueInfoProto()
    copy.CopyFrom(value)
    copy.name = name
    return copy
