"""What stands before and behind a model, as its first and its last nodes."""

import os

import onnx

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.rewrites import outputs, pictures, tables

OLDEST = 11
"""Of the operator sets that have Range, Clip and Slice as they are written here."""
OLDEST_BEHIND = 13
"""Of those whose Softmax is that of one axis."""


def answer(request, cases, folder):
    del cases
    model = onnx.load(request["onnx"])
    opset = next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    oldest = OLDEST_BEHIND if request["postprocessing"] else OLDEST
    if opset < oldest:
        raise Fault("export", f"it takes operators of set {oldest}, the model is in {opset}")
    for block in request["preprocessing"]:
        pictures.prepare(model.graph, block)
    for block in request["columns"]:
        tables.prepare(model.graph, block)
    for block in request["postprocessing"]:
        outputs.finish(model.graph, block)
    onnx_file.save(model, os.path.join(folder, "model.onnx"), request["limits"]["inline"])
    return {"framework": f"onnx {onnx.__version__}"}
