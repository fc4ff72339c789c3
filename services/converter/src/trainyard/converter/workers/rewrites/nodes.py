"""Nodes that are put before or behind a graph, and their constants."""

import numpy
from onnx import helper, numpy_helper

from trainyard.converter.workers.graphs import apply, names_in, unique


class Nodes:
    def __init__(self, graph, prefix):
        self.taken = names_in(graph)
        self.prefix = prefix
        self.nodes, self.constants = [], []

    def name(self, word):
        found = unique(f"{self.prefix}_{word}", self.taken)
        self.taken.add(found)
        return found

    def constant(self, word, value):
        name = self.name(word)
        self.constants.append(numpy_helper.from_array(numpy.asarray(value), name))
        return name

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or self.name(kind.lower())
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=output, **attributes))
        return output


def before(graph, name, chain):
    """`chain(nodes, ready)` makes what the graph takes, called `ready`, of the input `name`."""
    nodes = Nodes(graph, name)
    ready = nodes.name("prepared")
    apply(graph, {name: ready})
    next(value for value in graph.input if value.name == ready).name = name
    chain(nodes, ready)
    graph.initializer.extend(nodes.constants)
    rest = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes.nodes, *rest])
