"""A graph as the source of a torch module: one line a node, control flow as Python's own."""

from __future__ import annotations

import inspect
import math

import numpy as np
import onnx
import torch
from onnx import numpy_helper

from .names import Names
from .normalise import STANDARD

DTYPES = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16", 17: "float8_e4m3fn",
    18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz",
}  # fmt: skip
"""ONNX's element types that torch has. Strings and types of four bits and less it has not."""
DTYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")
CHANGED = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13, "Resize": 11, "DFT": 20}
"""Operators that mean something else before this opset without it showing in an attribute; met where the version
converter failed."""
CONTROL = ("If", "Loop", "Scan", "Constant")


class Refused(Exception):
    """The model cannot be written; every reason is in it."""


class Emitter:
    def __init__(self, library, opset, origin):
        self.library = library
        self.opset = opset
        self.origin = origin
        self.weights = {}
        self.trainable = set()
        self.called = set()
        self.blocking = []
        self._members = Names([*dir(torch.nn.Module()), "torch", "operators"])
        self._locals = Names(["self", "torch", "operators", "load", "Model"])
        self._lines = []
        self._depth = 2

    def emit(self, graph):
        """The lines of forward, and the names of its parameters."""
        scope = {}
        self._initializers(graph, scope)
        free = [one.name for one in graph.input if one.name not in scope]
        parameters = [self._name(name, scope) for name in free]
        self._body(graph, scope)
        if self.blocking:
            raise Refused("; ".join(self.blocking))
        results = [scope[one.name] for one in graph.output]
        self._line(f"return {', '.join(results)}{',' if len(results) == 1 else ''}")
        return parameters, self._lines

    def _line(self, text):
        self._lines.append("    " * self._depth + text)

    def _name(self, foreign, scope):
        scope[foreign] = self._locals.give(foreign)
        return scope[foreign]

    def _weight(self, name, proto, scope, trainable):
        if proto.data_type not in DTYPES:
            kind = onnx.TensorProto.DataType.Name(proto.data_type)
            self.blocking.append(f"tensor {name!a} of {kind}, which torch does not have")
            scope[name] = "None"
            return
        array = numpy_helper.to_array(proto)
        dtype = getattr(torch, DTYPES[proto.data_type])
        if array.dtype.kind == "V" or proto.data_type >= 16:
            value = torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).copy()).view(dtype).reshape(array.shape)
        else:
            value = torch.from_numpy(np.array(array))
        member = self._members.give(name)
        self.weights[member] = value
        if trainable and value.dtype.is_floating_point:
            self.trainable.add(member)
        scope[name] = f"self.{member}"

    def _initializers(self, graph, scope):
        for one in graph.sparse_initializer:
            self.blocking.append(f"sparse initializer {one.values.name!a}: make it dense")
        # Running statistics are learnt by no gradient, and torch refuses one for them.
        statistics = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[3:]}
        for one in graph.initializer:
            self._weight(one.name, one, scope, trainable=one.name not in statistics)

    def _body(self, graph, scope):
        for node in graph.node:
            if node.domain in STANDARD and node.op_type == "Scan" and self.origin < 9:
                self._block(node, "Scan had a batch before opset 9, which the version converter leaves out", scope)
            elif node.domain in STANDARD and self.opset < CHANGED.get(node.op_type, 0):
                self._block(node, f"another operator before opset {CHANGED[node.op_type]}", scope)
            elif node.domain in STANDARD and node.op_type in CONTROL:
                getattr(self, f"_{node.op_type.lower()}")(node, scope)
            else:
                self._call(node, scope)

    def _block(self, node, why, scope):
        self.blocking.append(f"{node.domain or 'ai.onnx'}.{node.op_type} {node.name or list(node.output)!a}: {why}")
        for name in node.output:
            scope[name] = "None"

    def _call(self, node, scope):
        signature = self.library.signatures.get(node.op_type) if node.domain in STANDARD else None
        if signature is None:
            self._block(node, "no torch function", scope)
            return
        arguments = [scope[name] if name else "None" for name in node.input]
        for attribute in node.attribute:
            if attribute.name not in signature.parameters:
                self._block(node, f"attribute {attribute.name!a} is not known", scope)
                return
            text = self._literal(attribute)
            if text is None:
                self._block(node, f"attribute {attribute.name} has a value that torch cannot hold", scope)
                return
            arguments.append(f"{attribute.name}={text}")
        if "outputs" in signature.parameters:
            arguments.append(f"outputs={len(node.output)}")
        self.called.add(node.op_type)
        targets = [self._name(name, scope) if name else "_" for name in node.output]
        several = signature.return_annotation is not inspect.Signature.empty
        left = f"{', '.join(targets)}, *_" if several else targets[0]
        self._line(f"{left} = operators.{node.op_type}({', '.join(arguments)})")

    @staticmethod
    def _literal(attribute):  # noqa: PLR0911 - one a kind of value
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name in DTYPE_ATTRIBUTES:
            return f"torch.{DTYPES[value]}" if value in DTYPES else ("None" if value == 0 else None)
        if isinstance(value, onnx.TensorProto):
            if value.data_type not in DTYPES or value.data_type >= 14:
                return None
            array = numpy_helper.to_array(value)
            return f"torch.tensor({_plain(array.tolist())}, dtype=torch.{DTYPES[value.data_type]})"
        if isinstance(value, bytes):
            return ascii(value.decode(errors="replace"))
        if isinstance(value, (int, float)):
            return _plain(value)
        if isinstance(value, (list, tuple)) or hasattr(value, "__iter__"):
            items = [one.decode(errors="replace") if isinstance(one, bytes) else one for one in value]
            if all(isinstance(one, (int, float, str)) for one in items):
                return _plain(items)
        return None

    def _constant(self, node, scope):
        if not node.attribute:  # what ONNX's own function body of an operator leaves where a default was meant
            self._block(node, "has no value", scope)
            return
        attribute = node.attribute[0]
        name, value = node.output[0], onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            proto = value
        elif attribute.name in {"value_int", "value_ints"}:
            proto = numpy_helper.from_array(np.array(value, np.int64))
        elif attribute.name in {"value_float", "value_floats"}:
            proto = numpy_helper.from_array(np.array(value, np.float32))
        else:
            self._block(node, f"{attribute.name} is not a tensor that torch holds", scope)
            return
        self._weight(name, proto, scope, trainable=False)

    def _subgraph(self, graph, scope, bound):
        """The body at the present depth; the names of its outputs."""
        inner = dict(scope)
        self._initializers(graph, inner)
        inner.update({one.name: name for one, name in zip(graph.input, bound)})
        self._body(graph, inner)
        return [inner[one.name] for one in graph.output]

    def _if(self, node, scope):
        graphs = {one.name: one.g for one in node.attribute}
        outer = dict(scope)
        targets = [self._name(name, scope) for name in node.output]
        for head, branch in ((f"if bool({outer[node.input[0]]}):", "then_branch"), ("else:", "else_branch")):
            self._line(head)
            self._depth += 1
            for target, found in zip(targets, self._subgraph(graphs[branch], outer, [])):
                self._line(f"{target} = {found}")
            self._depth -= 1

    def _loop(self, node, scope):
        body = next(one.g for one in node.attribute if one.name == "body")
        carried = len(node.input) - 2
        count, go = self._locals.give("count"), self._locals.give("go_on")
        state = [self._locals.give(one.name) for one in body.input[2:]]
        lists = [self._locals.give(f"{one.name}_all") for one in body.output[1 + carried :]]
        limit = [*node.input, "", ""][0]
        first = node.input[1] if len(node.input) > 1 else ""
        self._line(f"{count} = 0")
        self._line(f"{go} = {f'bool({scope[first]})' if first else 'True'}")
        self._begin(state, [scope[foreign] if foreign else "None" for foreign in node.input[2:]], lists)
        bound = f"{count} < int({scope[limit]}) and " if limit else ""
        self._line(f"while {bound}{go}:")
        self._depth += 1
        found = self._subgraph(body, scope, [f"torch.tensor({count})", f"torch.tensor({go})", *state])
        self._line(f"{go} = bool({found[0]})")
        self._step(state, lists, found[1:])
        self._line(f"{count} += 1")
        self._depth -= 1
        self._results(node, scope, state, lists, [(0, 0)] * len(lists))

    def _begin(self, state, values, lists):
        """Before the first step: what is carried along, and what is collected."""
        for name, value in zip(state, values):
            self._line(f"{name} = {value}")
        for name in lists:
            self._line(f"{name} = []")

    def _step(self, state, lists, found):
        """What the body has `found` becomes the next state, all at once, and is collected."""
        if state:
            self._line(f"{', '.join(state)}, = {', '.join(found[: len(state)])},")
        for name, value in zip(lists, found[len(state) :]):
            self._line(f"{name}.append({value})")

    def _results(self, node, scope, state, lists, ways):
        values = [*state, *(f"operators.StackScan({name}, {axis}, {back})" for name, (axis, back) in zip(lists, ways))]
        if lists:
            self.called.add("StackScan")
        for foreign, value in zip(node.output, values):
            if foreign:
                self._line(f"{self._name(foreign, scope)} = {value}")

    def _scan(self, node, scope):
        given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
        body, scanned = given["body"], given["num_scan_inputs"]
        carried = len(node.input) - scanned
        outputs = len(body.output) - carried
        state = [self._locals.give(one.name) for one in body.input[:carried]]
        lists = [self._locals.give(f"{one.name}_all") for one in body.output[carried:]]
        step, length = self._locals.give("step"), self._locals.give("length")
        axes = given.get("scan_input_axes") or [0] * scanned
        backs = given.get("scan_input_directions") or [0] * scanned
        self._begin(state, [scope[foreign] for foreign in node.input[:carried]], lists)
        sources = [scope[name] for name in node.input[carried:]]
        self._line(f"{length} = {sources[0]}.shape[{int(axes[0])}]")
        self._line(f"for {step} in range({length}):")
        self._depth += 1
        slices = [
            f"{source}.select({int(axis)}, {f'{length} - 1 - {step}' if back else step})"
            for source, axis, back in zip(sources, axes, backs)
        ]
        found = self._subgraph(body, scope, [*state, *slices])
        self._step(state, lists, found)
        self._depth -= 1
        ways = zip(given.get("scan_output_axes") or [0] * outputs, given.get("scan_output_directions") or [0] * outputs)
        self._results(node, scope, state, lists, [(int(axis), int(back)) for axis, back in ways])


def _plain(value):
    """A number, string or nested list of them as Python source."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_plain(one) for one in value)}]"
    if isinstance(value, float) and (math.isnan(value) or value in {float("inf"), float("-inf")}):
        return f'float("{value}")'
    return ascii(value)
