"""A model as the emitter wants it: one recent opset, functions written out, operators without a torch function lowered.

Old operators change their form between opsets (Slice 1, Dropout 7, BatchNormalization 7, Resize 10); ONNX's own version
converter knows the changes, so that each operator needs one torch function and not one for every age.
"""

from __future__ import annotations

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


def normalise(model, known):
    """`known` are the operators that have a torch function."""
    if model.functions:
        model = inliner.inline_local_functions(model)
    if 0 < opset(model) < OPSET:
        try:
            model = version_converter.convert_version(model, OPSET)
        except Exception as fault:  # stays as it is; what then cannot be emitted is named, and this with it
            print(f"not brought from opset {opset(model)} to {OPSET}: {fault}")
    before, lacking = None, _lacking(model, known)
    for _ in range(4):  # a function may be written in terms of functions
        if not lacking or lacking == before:
            break
        try:
            model = inliner.inline_selected_functions(
                shape_inference.infer_shapes(model), sorted(lacking), inline_schema_functions=True
            )
        except Exception as fault:
            print(f"not written out: {sorted(lacking)}: {fault}")
            break
        before, lacking = lacking, _lacking(model, known)
    return model


def _lacking(model, known):
    return {
        (node.domain, node.op_type)
        for node in nodes(model.graph)
        if node.domain in STANDARD and node.op_type not in known
    }
