"""Flatten and Reshape with sizes in numbers, for converters that take the batch of an example for the model's."""

import numpy
from onnx import numpy_helper, shape_inference

REPLACED = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")


def reshaped(model):
    """The model with every such node whose result has one free dimension at most as a Reshape to a constant."""
    model = shape_inference.infer_shapes(model, data_prop=True)
    graph = model.graph
    shapes = {value.name: sizes(value) for value in (*graph.value_info, *graph.output)}
    for node in graph.node:
        wanted = shapes.get(node.output[0])
        if node.op_type not in REPLACED or node.domain or wanted is None:
            continue
        if wanted.count(-1) > 1 or 0 in wanted:
            continue
        constant = f"{node.output[0]}_sizes"
        graph.initializer.append(numpy_helper.from_array(numpy.array(wanted, numpy.int64), constant))
        data = node.input[0]
        node.op_type = "Reshape"
        del node.attribute[:]
        node.input[:] = [data, constant]
    return model


def sizes(value):
    """-1 for a free dimension; None where not even the rank is known."""
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
