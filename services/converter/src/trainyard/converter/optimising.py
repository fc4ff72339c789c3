"""A smaller graph, where the numbers stay the same: what an optimiser made is held to the same proof as what it was made
from, and taken back where that does not hold."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from trainyard.converter.adapters import check, scripts, worker_rewriter
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.climbing import check_request, held
from trainyard.converter.core import divergence
from trainyard.converter.ports import Exported, ExportFault, ModelFault, RewriteRequest, Rewritten, Tell
from trainyard.converter.preparation import Tools
from trainyard.converter.record import Record

OPTIMISER = "rewrites.slim"


async def optimise(record: Record, tools: Tools, exported: Exported, tell: Tell) -> Exported:
    """The smaller model, or the same where it was not asked for or did not hold."""
    if not record.spec.optimise:
        return exported
    began = tools.clock.monotonic()
    await tell("optimise", "making the graph smaller", 0.7)
    before = sum(_operators(record).values())
    try:
        request = RewriteRequest(OPTIMISER, exported.onnx, record.work("optimised"))
        rewritten = await tools.rewriter.rewrite(request)
        fault = await _fault(record, tools, exported, rewritten)
    except (ExportFault, ModelFault) as error:  # a model that was proven is not lost by it
        fault = str(error)
    if fault:
        record.step("optimise", False, f"taken back: {fault}", began)
        return exported
    words = f"{before} nodes became {sum(_operators(record).values())} by {rewritten.framework}"
    again = {**worker_rewriter.document(request), "onnx": None}  # what it was made from is not kept
    script = Script("optimise", scripts.OWN, "model.onnx", again)
    record.step("optimise", True, f"{words}, equal on {len(record.cases)} inputs", began, script=script)
    return replace(exported, onnx=rewritten.onnx)


async def _fault(record: Record, tools: Tools, exported: Exported, rewritten: Rewritten) -> str:
    """What is wrong with it; empty, and then the record speaks of it, where nothing is."""
    checked = await check.run(check_request(record, rewritten.onnx, "optimised-check"), tools.limits)
    known = record.signature
    assert known is not None  # noqa: S101 - set by climb
    if (checked.signature.inputs, checked.signature.outputs) != (known.inputs, known.outputs):
        return "its inputs or outputs are others than before"
    comparisons = await asyncio.to_thread(held, record, exported, checked.found)
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        inputs, folder = record.cases[wrong[0].case], record.work("optimised-difference")
        differences = await tools.rewriter.differences(exported.onnx, rewritten.onnx, inputs, folder)
        begins = divergence.first(differences)
        where = f"; it begins at {begins.operator} {begins.tensor!r}" if begins else ""
        return f"the numbers differ: {wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}{where}"
    record.signature, record.comparisons = checked.signature, comparisons
    return ""


def _operators(record: Record) -> dict[str, int]:
    return dict(record.signature.operators) if record.signature else {}
