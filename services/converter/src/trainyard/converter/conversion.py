"""One conversion from request to proof: export, check, verify, a smaller graph, other targets, a lower precision, repository,
serving, report.

The order is that of trust: nothing is written for Triton before the numbers agree, and nothing is called proven before a
server has answered with them. Everything is made in a scratch folder and published by one rename, so a crash leaves either
the whole result or none, and the next delivery of the request begins anew. What takes long runs in a thread: the event
loop has to tell the bus meanwhile that the work goes on.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from trainyard.common.clock import rfc3339
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput
from trainyard.converter import ends, lowering, serving_proof, targets
from trainyard.converter.adapters import onnx_files, scripts
from trainyard.converter.adapters.files import scratch_for
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.climbing import climb
from trainyard.converter.core import triton
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.measuring import measure
from trainyard.converter.optimising import optimise
from trainyard.converter.ports import ModelFault, Tell
from trainyard.converter.preparation import ConversionFault, Tools, prepare
from trainyard.converter.record import Record, finish


@dataclass(frozen=True, slots=True)
class Proven:
    report: ConversionReport
    folder: Path
    """`model.onnx`, the report, and `triton/` where a repository was asked for."""
    config: triton.ModelConfig | None
    serves: Path
    """What a server is given."""


async def convert(request: ConversionRequested, tools: Tools, tell: Tell) -> Proven:
    """Raises ConversionFault (with the folder of its report), or Retryable when the machine is at fault."""
    target = tools.state / "conversions" / request.conversion_id
    scratch = await asyncio.to_thread(scratch_for, target)
    record = Record(request, scratch, tools.clock, tools.clock.monotonic(), rfc3339(tools.clock.now()))
    try:
        async with tools.exporter.session() as exporter:
            await _prove(record, replace(tools, exporter=exporter), tell)
    except (ModelFault, InvalidInput, ConversionFault) as error:
        fault = error if isinstance(error, ConversionFault) else ConversionFault("model", str(error))
        await asyncio.to_thread(finish, record, target, str(error))
        fault.report = target
        raise fault from error
    await tell("report", "writing the report", 0.97)
    return Proven(await asyncio.to_thread(finish, record, target, None), target, record.config, target / record.serves)


async def _prove(record: Record, tools: Tools, tell: Tell) -> None:
    await tell("prepare", "looking at the model and its samples", 0.02)
    await prepare(record, tools)
    as_it_was = await climb(record, tools, tell)
    exported = await optimise(record, tools, as_it_was, tell)
    await asyncio.to_thread(onnx_files.copy, exported.onnx, record.scratch / "model.onnx")
    record.scripts.append(Script("the numbers of model.onnx", scripts.OWN, "model.onnx"))
    whole = await ends.complete(record, tools, exported, exported.onnx, ends.exactly, tell)
    await targets.write(record, tools, whole, tell)
    await lowering.lower(record, tools, exported, tell)
    if record.lowered:
        lowered = record.scratch / record.serves
        whole = await ends.complete(record, tools, exported, lowered, ends.as_served, tell)
    ends.serve(record, whole)
    await measure(record, tools, as_it_was, tell)
    if "triton" in record.spec.to:
        await ends.without_scalars(record, tools, whole)
        await tell("triton", "writing the Triton repository", 0.75)
        config = await asyncio.to_thread(serving_proof.write_repository, record, exported)
        await tell("serve", "asking a server for a prediction", 0.85)
        await serving_proof.serve(record, tools, whole, config)
