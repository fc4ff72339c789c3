"""Half precision inside; what goes in and comes out stays as it was, so that nobody who asks the model has to change."""

import os

import onnx
import onnxruntime
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.onnx_model import OnnxModel

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.graphs import nodes_of

HALF = onnx.TensorProto.FLOAT16


def answer(request, cases, folder):
    del cases
    model = onnx.load(request["onnx"])
    kept = nodes_of(model.graph, request["keep"])
    lowered = convert_float_to_float16(
        onnx_file.inferred(model), keep_io_types=True, node_block_list=kept, disable_shape_infer=True
    )
    if not any(item.data_type == HALF for item in lowered.graph.initializer) and not casts(lowered.graph):
        raise Fault("export", "it computes with nothing that could be float16")
    straighten(lowered.graph)
    OnnxModel(lowered).topological_sort()  # casts were put behind what takes them
    onnx_file.save(lowered, os.path.join(folder, "model.onnx"), request["limits"]["inline"])
    return {"framework": f"onnxruntime {onnxruntime.__version__}"}


def straighten(graph):
    """Between two nodes that were kept nothing goes through half precision, which may not hold it."""
    halved = {node.output[0]: node.input[0] for node in graph.node if node.name.endswith("_cast_to_fp16_node")}
    for node in graph.node:
        if node.name.endswith("_cast_to_fp32_node") and node.input[0] in halved:
            node.op_type, node.input[0] = "Identity", halved[node.input[0]]
            del node.attribute[:]


def casts(graph):
    return any(item.name == "to" and item.i == HALF for node in graph.node for item in node.attribute)
