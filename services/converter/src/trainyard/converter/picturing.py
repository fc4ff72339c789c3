"""Preprocessing as part of what is served: written into the graph, and proven from the picture that a client sends to what
the framework makes of it once numpy and Pillow have prepared it."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

from trainyard.converter.adapters import check
from trainyard.converter.climbing import check_request
from trainyard.converter.core import gate, precision
from trainyard.converter.core.cases import Array
from trainyard.converter.core.gate import Comparison
from trainyard.converter.ports import Exported, ExportFault, RewriteRequest, Tell
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record

REWRITE = "rewrites.pictures"
FILE = Path("model.pictures.onnx")


async def prepend(record: Record, tools: Tools, exported: Exported, tell: Tell) -> None:
    """What is served from now on takes pictures. Raises ConversionFault where its numbers differ."""
    blocks = record.spec.preprocessing
    if not blocks:
        return
    began = tools.clock.monotonic()
    await tell("preprocessing", "writing the preprocessing into the graph", 0.73)
    options = {"blocks": [block.model_dump(mode="json") for block in blocks]}
    request = RewriteRequest(REWRITE, record.scratch / record.serves, record.work("pictures"), options=options)
    try:
        rewritten = await tools.rewriter.rewrite(request)
        wanted = replace(check_request(record, rewritten.onnx, "pictures-check"), cases=record.pictures)
        checked = await check.run(wanted, tools.limits)
    except ExportFault as error:
        raise ConversionFault("preprocessing", f"its pictures cannot be prepared in the graph: {error}") from error
    comparisons = await asyncio.to_thread(
        lambda: [
            compare(record, case, name, reference, checked.found[case][name])
            for case in record.pictures
            for name, reference in exported.references[case].items()
        ]
    )
    wrong = [item for item in comparisons if not item.passed]
    words = f"equal on {len(record.pictures)} batches of pictures"
    fault = f"{wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}" if wrong else ""
    record.step("preprocessing", not fault, fault or words, began)
    if fault:
        raise ConversionFault("preprocessing", f"the numbers differ from those of pictures prepared outside: {fault}")
    record.serves, record.served_signature = FILE, checked.signature
    shutil.copy2(rewritten.onnx, record.scratch / FILE)


def compare(record: Record, case: str, name: str, reference: Array, found: Array) -> Comparison:
    """By the bounds of what is served."""
    if record.spec.precision:
        return precision.compare(record.spec.precision, case, name, reference, found)
    return gate.compare(case, name, reference, found, record.spec.tolerance)
