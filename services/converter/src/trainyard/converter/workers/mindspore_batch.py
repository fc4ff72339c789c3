"""One model with a free batch from two of fixed ones: whatever differs between them in step with the batch is the batch.

Sizes of a Reshape that follow it become free, a constant that is one slice over and over (the first state of an LSTM) is
repeated as often as the input has rows. Nothing is guessed: what differs in any other way is named. That the model is right
at other batches is for the proof to show.
"""

import numpy
from onnx import helper, numpy_helper

from trainyard.converter.workers.frame import Fault

BATCH = "batch"


def freed(model, other, batches):
    """`model` with the batch free; `other` is the same with another batch; `batches`: of the two. Raises Fault."""
    graphs = (model.graph, other.graph)
    for graph in graphs:
        constants_apart(graph)
    shapes = [[(node.op_type, list(node.input)) for node in graph.node] for graph in graphs]
    tensors = [{item.name: item for item in graph.initializer} for graph in graphs]
    if shapes[0] != shapes[1] or tensors[0].keys() != tensors[1].keys():
        raise Fault("export", "MindSpore writes another graph for another batch")
    for one, two in zip(*(graph.node for graph in graphs)):
        changed = [a.name for a, b in zip(one.attribute, two.attribute) if a != b]
        if changed:
            raise Fault("export", f"{changed[0]} of {one.op_type} {one.output[0]!r} depends on the batch")
    resizing = {node.input[1] for node in model.graph.node if node.op_type == "Reshape"}
    rows = ends_freed(graphs, batches)
    for name, one in tensors[0].items():
        pair = [numpy_helper.to_array(item) for item in (one, tensors[1][name])]
        if pair[0].shape == pair[1].shape and (pair[0] == pair[1]).all():
            continue
        sizes = freely(*pair, batches) if name in resizing else None
        if sizes is not None:
            one.CopyFrom(numpy_helper.from_array(sizes, name))
        elif rows is None or not repeated(model.graph, one, pair, batches, rows):
            raise Fault("export", f"the constant {name!r} depends on the batch")
    del model.graph.value_info[:]
    return model


def constants_apart(graph):
    """What stands in a node beside what stands in the list, so that there is one place to look. In place."""
    for node in [node for node in graph.node if node.op_type == "Constant" and node.attribute[0].HasField("t")]:
        values = numpy_helper.to_array(node.attribute[0].t)
        graph.initializer.append(numpy_helper.from_array(values, node.output[0]))
        graph.node.remove(node)


def ends_freed(graphs, batches):
    """Dimensions of inputs and outputs that differ get a name, in place. Name and axis of an input that tells the batch, or
    None."""
    found = None
    for one, two in zip(*([*graph.input, *graph.output] for graph in graphs)):
        for axis, (a, b) in enumerate(zip(one.type.tensor_type.shape.dim, two.type.tensor_type.shape.dim)):
            if a.dim_value == b.dim_value:
                continue
            whole = a.dim_value == batches[0]
            if whole and found is None and one.name in {item.name for item in graphs[0].input}:
                found = one.name, axis
            a.dim_param = BATCH if whole else f"{BATCH}_{a.dim_value // batches[0]}"
    return found


def freely(values, others, batches):
    """Sizes with the one that follows the batch free: -1, or, where another is that already, 0 for the one of the input. None
    where they differ in any other way."""
    if values.shape != others.shape:
        return None
    differs = (values != others).nonzero()[0]
    if len(differs) != 1 or (values * batches[1] != others * batches[0])[differs].any():
        return None
    copied = differs[0] == 0 and values[0] == batches[0]
    if -1 in values and not copied:
        return None
    sizes = values.copy()
    sizes[differs[0]] = 0 if -1 in values else -1
    return sizes


def repeated(graph, tensor, pair, batches, rows):
    """Whether the constant is one slice, as often as there are rows: it is made so in the graph then. `pair`: its values at
    both batches."""
    sizes = [array.shape for array in pair]
    if len(sizes[0]) != len(sizes[1]):
        return False
    axes = [axis for axis, (a, b) in enumerate(zip(*sizes)) if a != b]
    if len(axes) != 1 or (sizes[0][axes[0]], sizes[1][axes[0]]) != batches:
        return False
    (axis,) = axes
    piece = numpy.take(pair[0], [0], axis)
    if any((array != piece).any() for array in pair):
        return False
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(piece, f"{name}_slice"))
    place, before, behind, shape, count, whole = (
        f"{name}_{word}" for word in ("place", "before", "behind", "shape", "rows", "sizes")
    )
    constants = {place: [rows[1]], before: sizes[0][:axis], behind: sizes[0][axis + 1 :]}
    for key, numbers in constants.items():
        graph.initializer.append(numpy_helper.from_array(numpy.array(numbers, numpy.int64), key))
    steps = [
        helper.make_node("Shape", [rows[0]], [shape]),
        helper.make_node("Gather", [shape, place], [count]),
        helper.make_node("Concat", [before, count, behind], [whole], axis=0),
        helper.make_node("Expand", [tensor.name, whole], [name]),
    ]
    for step in reversed(steps):
        graph.node.insert(0, step)
    return True
