"""A graph in operator set 15, which is the newest that some converters were written for.

Functions that came later are written out as their definition has it, axes of a reduction become attributes again, and
whatever else is newer is named. ONNX's own version converter is not used downwards: it writes graphs that are not valid,
without a word.
"""

import numpy
import onnx
from onnx import inliner, numpy_helper, shape_inference

from trainyard.converter.workers.frame import Fault, gist
from trainyard.converter.workers.targets.reshaped import sizes

OPSET = 15
STANDARD = ("", "ai.onnx")
TIMES = 4
"""A function may be written in terms of functions."""
BY_INPUT = {"ReduceSum": 13}
"""The set in which a reduction got its axes as an input; all others did in 18."""


def brought(model, known):
    """The model in set 15. `known`: names of the operators that the converter has; a function among the others is written
    out. Raises Fault."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    if "LayerNormalization" not in known:
        norms_written_out(model)
    for _ in range(TIMES):
        lacking = {("", node.op_type) for node in model.graph.node if not node.domain and node.op_type not in known}
        if not lacking:
            break
        model = written_out(model, sorted(lacking))
    if version(model) <= OPSET:
        return model
    with_axes(model)
    for item in model.opset_import:
        if item.domain in STANDARD:
            item.version = OPSET
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        raise Fault("export", f"it cannot be said in operator set {OPSET}: {gist(error)}")
    return model


def written_out(model, wanted):
    """The inliner wants to know the type of everything, of constants too. Raises Fault."""
    told = {value.name for value in (*model.graph.value_info, *model.graph.input)}
    model.graph.value_info.extend(
        onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        for tensor in model.graph.initializer
        if tensor.name not in told
    )
    try:
        return inliner.inline_selected_functions(
            shape_inference.infer_shapes(model), wanted, inline_schema_functions=True
        )
    except Exception as error:  # of its own, with no common class but Exception
        raise Fault("export", f"{', '.join(name for _, name in wanted)} cannot be written out: {gist(error)}")


def norms_written_out(model):
    """Layer normalisation over its last dimensions, in place; its definition flattens by sizes that it computes, and other
    converters take the batch of an example for the model's there. Statistics that somebody reads stay for the definition."""
    shapes = {value.name: sizes(value) for value in (*model.graph.value_info, *model.graph.input)}
    for node in [node for node in model.graph.node if node.op_type == "LayerNormalization" and not node.domain]:
        told = {item.name: item for item in node.attribute}
        axis = told["axis"].i if "axis" in told else -1
        if axis > 0 and shapes.get(node.input[0]) is not None:
            axis -= len(shapes[node.input[0]])
        if axis < 0 and len(node.output) == 1:
            epsilon = told["epsilon"].f if "epsilon" in told else 1e-5
            place = list(model.graph.node).index(node)
            model.graph.node.remove(node)
            for step in reversed(norm(node, list(range(axis, 0)), epsilon, model.graph)):
                model.graph.node.insert(place, step)


def norm(node, axes, epsilon, graph):
    """(x - mean) / sqrt(variance + epsilon) · scale + shift. Source: ONNX operators, LayerNormalization."""
    names = ("mean", "centred", "squares", "variance", "shifted", "deviation", "normed", "epsilon", "scaled")
    mean, centred, squares, variance, shifted, deviation, normed, small, scaled = (
        f"{node.output[0]}_{name}" for name in names
    )
    x, scale, *shift = node.input
    kind = next((tensor.data_type for tensor in graph.initializer if tensor.name == scale), onnx.TensorProto.FLOAT)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    graph.initializer.append(numpy_helper.from_array(numpy.array(epsilon, dtype), small))
    steps = [
        ("ReduceMean", [x], mean),
        ("Sub", [x, mean], centred),
        ("Mul", [centred, centred], squares),
        ("ReduceMean", [squares], variance),
        ("Add", [variance, small], shifted),
        ("Sqrt", [shifted], deviation),
        ("Div", [centred, deviation], normed),
        ("Mul", [normed, scale], scaled if shift else node.output[0]),
    ]
    if shift:
        steps.append(("Add", [scaled, *shift], node.output[0]))
    return [
        onnx.helper.make_node(kind, inputs, [output], **({"axes": axes} if kind == "ReduceMean" else {}))
        for kind, inputs, output in steps
    ]


def version(model):
    return next((item.version for item in model.opset_import if item.domain in STANDARD), 0)


def with_axes(model):
    """Axes that are constants, and what to do where there are none, as attributes. In place."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    for node in model.graph.node:
        if not node.op_type.startswith("Reduce") or node.op_type in BY_INPUT or node.domain:
            continue
        if any(item.name == "axes" for item in node.attribute):
            continue
        given = node.input[1] if len(node.input) > 1 else ""
        if given and given not in constants:
            raise Fault("export", f"the axes of {node.op_type} {node.output[0]!r} are computed, not constant")
        axes = [int(axis) for axis in constants[given].reshape(-1)] if given else []
        told = {item.name: item.i for item in node.attribute}
        if told.get("noop_with_empty_axes") and not axes:
            node.op_type = "Identity"
            del node.attribute[:]
        else:
            kept = [item for item in node.attribute if item.name == "keepdims"]
            del node.attribute[:]
            node.attribute.extend(kept)
            if axes:
                node.attribute.append(onnx.helper.make_attribute("axes", axes))
        del node.input[1:]
