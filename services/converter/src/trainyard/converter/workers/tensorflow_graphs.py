"""Graphs of TensorFlow before they are loaded: whether they reach files or code."""

import os

from trainyard.converter.workers.frame import Fault, first_line
from trainyard.converter.workers.tensorflow_operators import HARMFUL, STORING


def metas_of(folder):
    """The graphs of a SavedModel with what belongs to them, without loading it, as they are asked for."""
    from tensorflow.core.protobuf import saved_model_pb2

    found = saved_model_pb2.SavedModel()
    try:
        with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
            found.ParseFromString(file.read())
    except Exception as error:
        raise Fault("model", f"{folder} cannot be read as a SavedModel: {first_line(error)}")
    yield from found.meta_graphs


def harmless(request, graphs, metas=()):
    """Refuses what reaches files, unless it is trusted, and then it is not even read for it: the sandbox keeps no file from
    it. `graphs`: whole ones, as functions; `metas`: those of a SavedModel."""
    if request["trust"]:
        return
    name = os.path.basename(request["weights"])
    for graph in graphs:
        refuse(name, nodes_of(graph), HARMFUL | STORING)
    for meta in metas:
        refuse(name, nodes_of(meta.graph_def), HARMFUL)
        refuse(name, running(meta), STORING)


def refuse(name, nodes, operators):
    for node in nodes:
        if node.op in operators:
            words = f"node {node.name[:100]!r} ({node.op}) reaches files or code; convert.trust lets it"
            raise Fault("model", f"{name}: {words}")


def nodes_of(graph):
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def running(meta):
    """The nodes that run when a model is loaded or called. Every SavedModel can also save itself again, and whoever wrote it
    may have called those nodes as he likes: what counts is what nothing else needs."""
    graph, saver = meta.graph_def, meta.saver_def
    outputs = [item.name for signature in meta.signature_def.values() for item in signature.outputs.values()]
    called = above(graph, outputs)
    spared = above(graph, [saver.save_tensor_name, saver.restore_op_name]) - called
    waiting = [node for node in graph.node if node.name not in spared]
    bodies = {function.signature.name: function.node_def for function in graph.library.function}
    for name in meta.object_graph_def.concrete_functions:  # of these the loader runs some, and the signatures are some
        waiting += bodies.pop(name, ())
    while waiting:
        node = waiting.pop()
        yield node
        attributes = node.attr.values()
        functions = {item.func.name for item in attributes} | {
            item.name for value in attributes for item in value.list.func
        }
        for name in functions | {node.op}:
            waiting += bodies.pop(name, ())


def above(graph, tensors):
    """Names of the nodes that tensors come from, and of all that those need."""
    inputs = {node.name: node.input for node in graph.node}
    found, waiting = set(), list(tensors)
    while waiting:
        name = waiting.pop().lstrip("^").split(":")[0]
        if name in inputs and name not in found:
            found.add(name)
            waiting += inputs[name]
    return found
