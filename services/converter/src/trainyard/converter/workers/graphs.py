"""What is done to an exporter's graph so that it keeps its promises: names as declared, tensors only. In place."""

from typing import Any, Iterator  # noqa: UP035 - for an image's interpreter, which may be old


def tensors_only(model):
    """Without the lists of maps that some exporters end classifiers with: what goes into them is a tensor."""
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "ZipMap"]:
        for output in graph.output:
            if output.name == node.output[0]:
                output.name = node.input[0]
                output.type.Clear()
                output.type.tensor_type.elem_type = 1  # FLOAT
                for dim in (None, len(node.attribute[0].ints) or len(node.attribute[0].strings)):
                    output.type.tensor_type.shape.dim.add(**({"dim_value": dim} if dim else {"dim_param": "N"}))
        graph.node.remove(node)


def rename(model, inputs, outputs):
    """Inputs and outputs, in their order, by these names. An output that is an input, a constant or another output gets an
    Identity of its own; what bears one of the names inside gives way."""
    graph = model.graph
    own = [value for value in graph.input if value.name not in {tensor.name for tensor in graph.initializer}]
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


def apply(graph, new):
    for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        value.name = new.get(value.name, value.name)
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
        node.output[:] = [new.get(name, name) for name in node.output]
        for inner in inner_graphs(node):
            apply(inner, new)
