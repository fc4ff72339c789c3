"""A model as the emitter wants it: one recent opset, functions written out, operators without a torch function lowered.

Old operators change their form between opsets (Slice 1, Dropout 7, BatchNormalization 7, Resize 10); ONNX's own version
converter knows the changes, so that each operator needs one torch function and not one for every age.
"""

from __future__ import annotations

from functools import partial

import onnx
from onnx import inliner, shape_inference, version_converter

OPSET = 21
STANDARD = ("", "ai.onnx")


def opset(model):
    return next((one.version for one in model.opset_import if one.domain in STANDARD), 0)


def nodes(graph):
    """Every node, those of the bodies of control flow too."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from nodes(attribute.g)


def directly(model, step):
    return step(model)


def normalise(model, known, through=directly):
    """`known` are the operators that have a torch function; `through` does a step of ONNX with a model, and may leave out
    what such a step has no room for."""
    if model.functions:
        model = through(model, inliner.inline_local_functions)
    if 0 < opset(model) < OPSET:
        try:
            model = through(model, lambda light: version_converter.convert_version(light, OPSET))
        except Exception as fault:  # stays as it is; what then cannot be emitted is named, and this with it
            print(f"not brought from opset {opset(model)} to {OPSET}: {fault}")
    before, lacking = None, _lacking(model, known)
    for _ in range(4):  # a function may be written in terms of functions
        if not lacking or lacking == before:
            break
        try:
            model = through(model, partial(_written_out, wanted=sorted(lacking)))
        except Exception as fault:
            print(f"not written out: {sorted(lacking)}: {fault}")
            break
        before, lacking = lacking, _lacking(model, known)
    return model


def _written_out(model, wanted):
    return inliner.inline_selected_functions(shape_inference.infer_shapes(model), wanted, inline_schema_functions=True)


def _lacking(model, known):
    return {
        (node.domain, node.op_type)
        for node in nodes(model.graph)
        if node.domain in STANDARD and node.op_type not in known
    }
