"""Where an exported model begins to differ: the framework's layers, searched for in the ONNX graph by what they give."""

from __future__ import annotations

from dataclasses import replace

from trainyard.converter.core import divergence
from trainyard.converter.ports import ExportFault, ModelFault
from trainyard.converter.preparation import Tools, export_request
from trainyard.converter.record import Record


async def begins(record: Record, tools: Tools) -> str:
    """What is put behind the words about the last export that differed; empty where nobody can tell."""
    exported, rung = record.exported, record.rung
    case = next((item.case for item in record.comparisons if not item.passed), None)
    if exported is None or rung is None or case is None:
        return ""
    inputs = record.cases[case]
    try:
        request = replace(export_request(record, rung, "layers"), cases={case: inputs})
        layers = await tools.exporter.layers(request)
        seen = await tools.rewriter.seen(exported.onnx, layers, inputs, record.work("layers-seen"))
    except (ExportFault, ModelFault):  # a diagnosis that fails is no other verdict
        return ""
    found = divergence.between(layers.names, seen)
    if found is None:
        return ""
    before, lost = found
    start = f"it agrees up to layer {before}" if before else "no layer agrees"
    return f"; {start}, and what layer {lost} gives is nowhere in the ONNX model"
