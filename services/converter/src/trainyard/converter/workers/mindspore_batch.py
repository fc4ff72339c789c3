"""One model with a free batch from two of fixed ones: whatever differs between them in step with the batch is the batch.

Nothing is guessed: what differs in any other way is named. That the model is right at other batches is for the proof to show.
"""

from onnx import numpy_helper

from trainyard.converter.workers.frame import Fault

BATCH = "batch"


def freed(model, other, batches):
    """`model` with the batch free; `other` is the same with another batch; `batches`: of the two. Raises Fault."""
    graphs = (model.graph, other.graph)
    kinds = [[node.op_type for node in graph.node] for graph in graphs]
    if kinds[0] != kinds[1]:
        raise Fault("export", "MindSpore writes another graph for another batch")
    resizing = {node.input[1] for node in model.graph.node if node.op_type == "Reshape" and len(node.input) > 1}
    tensors = list(zip(*(sorted(graph.initializer, key=lambda item: item.name) for graph in graphs)))
    for one, two in tensors:
        settle(one, two, batches, one.name, resizing)
    for one, two in zip(*(graph.node for graph in graphs)):
        for a, b in zip(one.attribute, two.attribute):
            if a.HasField("t"):
                settle(a.t, b.t, batches, one.output[0], resizing)
            elif a != b:
                raise Fault("export", f"{a.name} of {one.op_type} {one.output[0]!r} depends on the batch")
    for one, two in zip([*graphs[0].input, *graphs[0].output], [*graphs[1].input, *graphs[1].output]):
        for a, b in zip(one.type.tensor_type.shape.dim, two.type.tensor_type.shape.dim):
            if a.dim_value != b.dim_value:
                a.dim_param = BATCH if a.dim_value == batches[0] else f"{BATCH}_{a.dim_value // batches[0]}"
    del model.graph.value_info[:]
    return model


def settle(one, two, batches, name, resizing):
    """A constant that is the same in both stays; among the sizes of a Reshape the one that follows the batch becomes free:
    -1, or, where another is that already, 0 for the one of its input. In place. `resizing`: names of such sizes. Raises
    Fault."""
    values, others = (numpy_helper.to_array(item) for item in (one, two))
    if values.shape == others.shape and (values == others).all():
        return
    if name in resizing and values.shape == others.shape:
        differs = (values != others).nonzero()[0]
        copied = list(differs) == [0] and values[0] == batches[0]
        in_step = (values * batches[1] == others * batches[0])[differs].all()
        if len(differs) == 1 and in_step and (copied or -1 not in values):
            freely = values.copy()
            freely[differs[0]] = -1 if -1 not in values else 0
            one.CopyFrom(numpy_helper.from_array(freely, one.name))
            return
    raise Fault("export", f"the constant {name!r} depends on the batch")
