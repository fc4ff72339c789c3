"""What is done to an exporter's graph so that it keeps its promises: names as declared, tensors only. In place."""

from typing import Any, Iterator  # noqa: UP035 - for an image's interpreter, which may be old

from trainyard.converter.workers.frame import Fault

FLOAT, INT64 = 1, 7
"""Of TensorProto.DataType."""


def tensors_only(model):
    """Without the lists of maps that some exporters end classifiers with: what goes into them is a tensor."""
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "ZipMap"]:
        for output in graph.output:
            if output.name == node.output[0]:
                output.name = node.input[0]
                output.type.Clear()
                output.type.tensor_type.elem_type = FLOAT
                for dim in (None, len(node.attribute[0].ints) or len(node.attribute[0].strings)):
                    output.type.tensor_type.shape.dim.add(**({"dim_value": dim} if dim else {"dim_param": "N"}))
        graph.node.remove(node)


def whole_categories(graph, width):
    """LightGBM cuts a category's fraction off before it looks it up, trees of ONNX compare the number as it is: what is
    `width` wide and goes into a tree loses its fraction in the columns that hold categories."""
    for node in [node for node in graph.node if node.op_type.startswith("TreeEnsemble")]:
        told = {item.name: item for item in node.attribute}
        columns = {
            at for at, mode in zip(told["nodes_featureids"].ints, told["nodes_modes"].strings) if mode == b"BRANCH_EQ"
        }
        if not columns:
            continue
        table, place = node.input[0], list(graph.node).index(node)
        mask, rest, number, cut, kept, whole = (
            f"{table}_{word}" for word in ("mask", "rest", "number", "cut", "kept", "whole")
        )
        for name, values in (
            (mask, [at in columns for at in range(width)]),
            (rest, [at not in columns for at in range(width)]),
        ):
            graph.initializer.add(name=name, data_type=FLOAT, dims=[width], float_data=values)
        # As operator set 8 has it, which is what the trees come in: a Cast cuts, two products choose.
        steps = [
            ("Cast", [table], number, INT64),
            ("Cast", [number], cut, FLOAT),
            ("Mul", [cut, mask], cut + "_kept", None),
            ("Mul", [table, rest], kept, None),
            ("Add", [cut + "_kept", kept], whole, None),
        ]
        for at, (kind, inputs, output, to) in enumerate(steps):
            step = type(node)(op_type=kind, input=inputs, output=[output])
            if to:
                step.attribute.add(name="to", type=2, i=to)
            graph.node.insert(place + at, step)
        node.input[0] = whole


def join_scalars(model):
    """A scalar among what a Concat joins is meant as a vector of one: Paddle's older programs had no scalars, and paddle2onnx
    takes what they cut out of a shape for some."""
    from onnx import helper

    from trainyard.converter.workers import onnx_file

    graph = model.graph
    scalars = {
        value.name
        for value in onnx_file.shapes(model)
        if value.type.tensor_type.HasField("shape") and not value.type.tensor_type.shape.dim
    }
    for node in [node for node in graph.node if node.op_type == "Concat" and scalars.intersection(node.input)]:
        place, shape = list(graph.node).index(node), f"{node.output[0]}_flat"
        graph.initializer.add(name=shape, data_type=INT64, dims=[1], int64_data=[-1])
        for at, name in enumerate(list(node.input)):
            node.input[at] = f"{shape}_{at}"
            graph.node.insert(place, helper.make_node("Reshape", [name, shape], [node.input[at]]))


def hold(model, values):
    """Inputs that are arrays which a function has captured: they become constants, for nobody would give them."""
    from onnx import numpy_helper

    for value in [value for value in model.graph.input if value.name in values]:
        model.graph.initializer.append(numpy_helper.from_array(values[value.name], value.name))
        model.graph.input.remove(value)


def rename(model, inputs, outputs):
    """Inputs and outputs, in their order, by these names. An output that is an input, a constant or another output gets an
    Identity of its own; what bears one of the names inside gives way. Raises Fault."""
    graph = model.graph
    own = [value for value in graph.input if value.name not in {tensor.name for tensor in graph.initializer}]
    for what, there, wanted in (("inputs", own, inputs), ("outputs", graph.output, outputs)):
        if len(there) != len(wanted):  # names would go to others
            words = ", ".join(f"{value.name}{taken_by(graph, value.name)}" for value in there)
            raise Fault("export", f"the exporter made {len(there)} {what} ({words}), there should be {len(wanted)}")
    made = {name for node in graph.node for name in node.output}
    seen = set()
    for value in graph.output:
        if value.name not in made or value.name in seen:
            fresh = unique(f"{value.name}_out", made | seen)
            graph.node.add(op_type="Identity", input=[value.name], output=[fresh])
            value.name = fresh
        seen.add(value.name)
    new = dict(zip([value.name for value in (*own, *graph.output)], [*inputs, *outputs]))
    inside = names_in(graph)
    for name in set(new.values()) & inside - set(new):
        new[name] = unique(f"{name}_inner", inside | set(new.values()))
    apply(graph, new)


def taken_by(graph, name):
    """In words; what an exporter could not write it often leaves behind with an input more."""
    kinds = sorted({node.op_type for node in graph.node if name in node.input})
    return f" of {', '.join(kinds)}" if kinds else ""


def declare(graph, answers):
    """CatBoost declares a regressor's answer as a list and gives a column: an output of another rank than it is declared
    with gets the shape that it has, with a free first dimension."""
    for value in graph.output:
        shape, answer = value.type.tensor_type.shape, answers[value.name]
        if len(shape.dim) != answer.ndim:
            del shape.dim[:]
            for at, size in enumerate(answer.shape):
                shape.dim.add(**({"dim_value": size} if at else {"dim_param": "N"}))


def unique(name, taken):
    while name in taken:
        name += "_"
    return name


def names_in(graph):
    found = {value.name for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer)}
    for node in graph.node:
        found.update(node.input, node.output)
        for inner in inner_graphs(node):
            found |= names_in(inner)
    return found - {""}


def inner_graphs(node):
    """Bodies of loops and branches: they see the names around them."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def graphs(graph: Any) -> Iterator[Any]:
    """It and the bodies of its loops and branches."""
    yield graph
    for node in graph.node:
        for inner in inner_graphs(node):
            yield from graphs(inner)


def nodes_of(graph, tensors):
    """Names of the nodes that give these tensors; who had no name of its own gets one. In place."""
    seen = set()
    for index, node in enumerate(graph.node):
        node.name = unique(node.name or f"{node.op_type}_{index}", seen)
        seen.add(node.name)
    return [node.name for node in graph.node if set(node.output) & set(tensors)]


def apply(graph, new):
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            apply(inner, new)
