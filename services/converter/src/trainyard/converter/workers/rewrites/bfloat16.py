"""Weights in bfloat16, widened where they are used: half the file, the numbers of a model that was trained so. Sums are taken
in float32: onnxruntime's CPU provider has next to no operator in bfloat16."""

import os

import ml_dtypes
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.graphs import graphs, nodes_of

FEWEST = 16
"""Elements of what is worth a node more."""
SINCE = 13
"""The operator set that brought bfloat16 to Cast. Source: onnx, Operator Changelog."""


def answer(request, cases, folder):
    del cases
    model = onnx.load(request["onnx"])
    opset = max(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    if opset < SINCE:
        raise Fault("export", f"its operator set {opset} has no bfloat16, {SINCE} is the first that has")
    kept = set(nodes_of(model.graph, request["keep"]))
    held = {name for node in model.graph.node if node.name in kept for name in node.input}
    if not sum([lowered(graph, held) for graph in graphs(model.graph)]):
        raise Fault("export", "it has no weights that could be bfloat16")
    onnx_file.save(model, os.path.join(folder, "model.onnx"), request["limits"]["inline"])
    return {"framework": f"onnx {onnx.__version__}, ml_dtypes {ml_dtypes.__version__}"}


def lowered(graph, held):
    """How many weights of it are in bfloat16 now. `held`: those that stay."""
    shown = {value.name for value in (*graph.input, *graph.output)}
    casts = []
    for tensor in graph.initializer:
        small = tensor.data_type != TensorProto.FLOAT or numpy.prod(tensor.dims) < FEWEST
        if small or tensor.name in shown | held:
            continue
        name = tensor.name
        values = numpy_helper.to_array(tensor).astype(ml_dtypes.bfloat16)
        tensor.CopyFrom(numpy_helper.from_array(values, f"{name}_bfloat16"))
        casts.append(helper.make_node("Cast", [tensor.name], [name], f"{name}_widened", to=TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return len(casts)
