"""What other converters stumble over, said in another way: sizes in numbers, where they take the batch of an example for the
model's, and factors of channels as a normalisation, whose axis they cannot mistake."""

import math

import numpy
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.workers import onnx_file

REPLACED = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)


def reshaped(model):
    """The model with every such node whose result has one free dimension at most as a Reshape to a constant."""
    model = onnx_file.inferred(model, data_prop=True)
    graph = model.graph
    shapes = {value.name: sizes(value) for value in (*graph.value_info, *graph.input, *graph.output)}
    for node in graph.node:
        if node.op_type not in REPLACED or node.domain:
            continue
        wanted = settled(shapes.get(node.output[0]), shapes.get(node.input[0]))
        if wanted is None or 0 in wanted:
            continue
        constant = f"{node.output[0]}_sizes"
        graph.initializer.append(numpy_helper.from_array(numpy.array(wanted, numpy.int64), constant))
        data = node.input[0]
        node.op_type = "Reshape"
        del node.attribute[:]
        node.input[:] = [data, constant]
    return model


def sizes(value):
    """Numbers, names of free dimensions, "" for those without; None where not even the rank is known."""
    kind = value.type.tensor_type
    if not kind.HasField("shape"):
        return None
    return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in kind.shape.dim]


def settled(wanted, data):
    """The sizes with -1 for the only free one; None where more are free. Of `x.view(len(x), -1)` the second is what the
    first, known by its name, leaves."""
    if wanted is None:
        return None
    free = [at for at, size in enumerate(wanted) if isinstance(size, str)]
    if len(free) == 2 and data is not None:
        names = [size for size in data if isinstance(size, str)]
        other = [at for at in free if wanted[at] not in names]
        whole, known = (math.prod(size for size in sizes if isinstance(size, int)) for sizes in (data, wanted))
        if len(names) == 1 and names[0] and len(other) == 1 and known and whole % known == 0:
            wanted = [whole // known if at == other[0] else size for at, size in enumerate(wanted)]
            free.remove(other[0])
    return [-1 if isinstance(size, str) else size for size in wanted] if len(free) <= 1 else None


def normalised(model):
    """The model with every product and sum of a picture and a constant of its channels as a BatchNormalization. Shapes are
    known in it, as in what `reshaped` gives."""
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    shapes = {value.name: sizes(value) for value in (*graph.value_info, *graph.input)}
    for node in [node for node in graph.node if node.op_type in ("Mul", "Add") and not node.domain]:
        for picture, constant in (node.input, node.input[::-1]):
            values = of_channels(constants.get(constant), shapes.get(picture))
            if values is None:
                continue
            none, one = numpy.zeros_like(values), numpy.ones_like(values)
            factor, shift = (values, none) if node.op_type == "Mul" else (one, values)
            names = [f"{node.output[0]}_{word}" for word in ("factor", "shift", "mean", "variance")]
            for name, numbers in zip(names, (factor, shift, none, one)):
                graph.initializer.append(numpy_helper.from_array(numbers, name))
            node.CopyFrom(helper.make_node("BatchNormalization", [picture, *names], list(node.output), epsilon=0.0))
            break
    return model


def of_channels(constant, picture):
    """The numbers of a constant [1, channels, 1, 1] for a picture with as many channels; None for others."""
    if constant is None or picture is None or len(picture) != 4 or constant.data_type not in FLOATS:
        return None
    if list(constant.dims) != [1, picture[1], 1, 1]:
        return None
    return numpy_helper.to_array(constant).reshape(-1)
