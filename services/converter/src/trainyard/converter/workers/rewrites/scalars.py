"""Inputs and outputs without a dimension, which Triton has no form for, with one of 1."""

import os

import numpy
import onnx

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.graphs import apply
from trainyard.converter.workers.rewrites.nodes import Nodes, before


def answer(request, cases, folder):
    del cases
    model = onnx.load(request["onnx"])
    graph = model.graph
    constants = {item.name for item in graph.initializer}
    for value in [value for value in graph.input if value.name not in constants and scalar(value)]:
        before(graph, value.name, taken_by(value.name))
        value.type.tensor_type.shape.dim.add(dim_value=1)
    for value in [value for value in graph.output if scalar(value)]:
        given(graph, value)
    onnx_file.save(model, os.path.join(folder, "model.onnx"), request["limits"]["inline"])
    return {"framework": f"onnx {onnx.__version__}"}


def scalar(value):
    kind = value.type.tensor_type
    return kind.HasField("shape") and not kind.shape.dim


def taken_by(name):
    def chain(nodes, ready):
        nodes.node("Reshape", name, nodes.constant("none", numpy.zeros(0, numpy.int64)), output=ready)

    return chain


def given(graph, value):
    name, nodes = value.name, Nodes(graph, value.name)
    plain = nodes.name("plain")
    apply(graph, {name: plain})
    nodes.node("Reshape", plain, nodes.constant("one", numpy.int64([1])), output=name)
    graph.initializer.extend(nodes.constants)
    graph.node.extend(nodes.nodes)
    value.name = name
    value.type.tensor_type.shape.dim.add(dim_value=1)
