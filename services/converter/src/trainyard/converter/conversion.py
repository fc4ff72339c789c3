"""One conversion from request to proof: export, check, verify, repository, serving, report.

The order is that of trust: nothing is written for Triton before the numbers agree, and nothing is called proven before a
server has answered with them. Everything is made in a scratch folder and published by one rename, so a crash leaves either
the whole result or none, and the next delivery of the request begins anew. What takes long runs in a thread: the event
loop has to tell the bus meanwhile that the work goes on.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import numpy as np

from trainyard.common.clock import rfc3339
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput, Retryable, TrainyardError
from trainyard.converter.adapters import onnx_model, repository
from trainyard.converter.adapters.files import scratch_for
from trainyard.converter.adapters.onnx_model import Runtime, Signature
from trainyard.converter.core import batching, cases, gate, ladder, ties, triton
from trainyard.converter.core.cases import Array
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.report import ConversionReport, ServedReport
from trainyard.converter.ports import Exported, ExportFault, ModelFault
from trainyard.converter.preparation import ConversionFault, Tools, export_request, prepare
from trainyard.converter.record import Record, finish

Tell = Callable[[str, str, float], Awaitable[None]]
"""Step, words for a person, fraction done."""


@dataclass(frozen=True, slots=True)
class Proven:
    report: ConversionReport
    folder: Path
    """`model.onnx`, the report, and `triton/` where a repository was asked for."""
    config: triton.ModelConfig | None


async def convert(request: ConversionRequested, tools: Tools, tell: Tell) -> Proven:
    """Raises ConversionFault (with the folder of its report), or Retryable when the machine is at fault."""
    target = tools.state / "conversions" / request.conversion_id
    scratch = await asyncio.to_thread(scratch_for, target)
    record = Record(request, scratch, tools.clock, tools.clock.monotonic(), rfc3339(tools.clock.now()))
    try:
        await _prove(record, tools, tell)
    except (ModelFault, InvalidInput, ConversionFault) as error:
        fault = error if isinstance(error, ConversionFault) else ConversionFault("model", str(error))
        await asyncio.to_thread(finish, record, target, str(error))
        fault.report = target
        raise fault from error
    await tell("report", "writing the report", 0.97)
    return Proven(await asyncio.to_thread(finish, record, target, None), target, record.config)


async def _prove(record: Record, tools: Tools, tell: Tell) -> None:
    await tell("prepare", "looking at the model and its samples", 0.02)
    await prepare(record, tools)
    exported = await _climb(record, tools, tell)
    shutil.copy2(exported.onnx, record.scratch / "model.onnx")
    if "triton" in record.spec.to:
        await tell("triton", "writing the Triton repository", 0.75)
        config = await asyncio.to_thread(_write_repository, record, exported)
        await tell("serve", "asking a server for a prediction", 0.85)
        await _serve(record, tools, exported, config)


async def _climb(record: Record, tools: Tools, tell: Tell) -> Exported:
    """Rung by rung until one is exported, accepted and equal."""
    limits = ladder.limits(version("onnxruntime"))
    rungs = ladder.rungs(record.opened.source.exporters, record.spec.opset, limits)
    faults = []
    for index, rung in enumerate(rungs):
        began, fraction = tools.clock.monotonic(), 0.1 + 0.6 * index / len(rungs)
        await tell("export", rung.describe(), fraction)
        try:
            exported = await tools.exporter.export(export_request(record, rung, f"rung-{index}"))
            signature = await asyncio.to_thread(_accepted, record, exported, limits)
            await tell("verify", f"comparing {len(record.cases)} inputs", fraction + 0.4 / len(rungs))
            comparisons = await asyncio.to_thread(_compare, record, exported)
        except ExportFault as error:
            faults.append(str(error))
            record.step(rung.describe(), False, faults[-1], began)
            continue
        record.exported, record.rung, record.signature, record.comparisons = exported, rung, signature, comparisons
        wrong = [item for item in comparisons if not item.passed]
        if not wrong:
            record.step(rung.describe(), True, f"equal on {len(record.cases)} inputs", began)
            return exported
        faults.append(f"{wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}")
        record.step(rung.describe(), False, faults[-1], began)
    # The newest exporter's words name the user's own line; the older one's, the operator that it lacks.
    told = "; ".join(dict.fromkeys((faults[0], faults[-1])))
    if record.comparisons:
        raise ConversionFault("numbers", f"the numbers differ: {told}")
    raise ConversionFault("export", f"the model cannot be exported: {told}")


def _accepted(record: Record, exported: Exported, limits: ladder.Limits) -> Signature:
    signature = onnx_model.read(exported.onnx, limits)
    batched = {item.name for item in record.inputs if cases.has_batch(item)}
    constant = onnx_model.fixed_batch(signature, batched)
    if constant:
        raise ExportFault(f"the batch of {', '.join(constant)} became a constant")
    for name in sorted({item.name for item in record.inputs} - {item.name for item in signature.inputs}):
        record.note(f"input {name!r} is not used by the model and is not part of the ONNX model")
    return signature


def _compare(record: Record, exported: Exported) -> list[Comparison]:
    runtime = Runtime(exported.onnx)
    missing = sorted(set(exported.output_names) - set(runtime.outputs))
    if missing:
        raise ExportFault(f"output {', '.join(missing)} is not in the exported model")
    comparisons = []
    for case, inputs in record.cases.items():
        found = runtime.run(inputs)
        for name, reference in exported.references[case].items():
            compared = gate.compare(case, name, reference, found[name], record.spec.tolerance)
            rows = None if compared.passed else ties.tied(name, case, exported.references, found)
            if rows is not None:
                record.note(
                    f"{name}: two classes are equally likely in rows {list(rows)} of {case}, so either is right"
                )
                compared = replace(compared, passed=True, fault="")
            comparisons.append(compared)
    return comparisons


def _write_repository(record: Record, exported: Exported) -> triton.ModelConfig:
    assert record.signature is not None  # noqa: S101 - set by _climb
    spec, batches = record.spec, record.batch_sizes
    obstacle = batching.obstacle(record.inputs, exported.references, batches, spec.tolerance)
    config = triton.configure(
        record.name,
        record.signature.inputs,
        record.signature.outputs,
        max_batch=0 if obstacle else max(batches),
        labels=spec.labels,
    )
    if config.max_batch_size == 0:
        why = obstacle or "not every input and output has a free batch before its other dimensions"
        record.note(f"requests are served one by one: {why}")
    repository.write(record.scratch / "triton", config, record.scratch / "model.onnx")
    record.config = config
    return config


async def _serve(record: Record, tools: Tools, exported: Exported, config: triton.ModelConfig) -> None:
    """One held-out sample (or the first generated input) through a server, against the framework's own output."""
    began = tools.clock.monotonic()
    case = cases.name("samples" if record.samples else "random", min(record.batch_sizes))
    inputs = {item.name: record.cases[case][item.name] for item in config.inputs}
    try:
        endpoint, server, outputs = await tools.serving.ask(record.scratch / "triton", record.name, inputs)
    except Retryable:
        raise
    except TrainyardError as error:
        raise ConversionFault("serving", str(error)) from error
    comparisons = [
        gate.compare(case, name, reference, outputs[name], record.spec.tolerance)
        for name, reference in exported.references[case].items()
    ]
    first = exported.output_names[0]
    record.served = ServedReport(
        endpoint=endpoint,
        server=server,
        sample=0,
        label=_label(record),
        predicted=_predicted(record, outputs[first]),
        reference=_predicted(record, exported.references[case][first]),
        max_abs_error=max(item.max_abs for item in comparisons),
        passed=all(item.passed for item in comparisons),
    )
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        raise ConversionFault("serving", f"the server answers other numbers: {wrong[0].fault}")
    record.step("serve", True, f"{server} at {endpoint} answers the same numbers", began)


def _label(record: Record) -> int | str | None:
    """What the held-out sample really is, where the samples tell."""
    labels = record.samples.get("labels")
    if labels is None or labels.ndim != 1 or labels.size == 0 or labels.dtype.kind not in "iu":
        return None
    return _word(record, int(labels[0]))


def _predicted(record: Record, output: Array) -> int | str | None:
    """The class of the first row, where the output has classes."""
    return _word(record, int(np.argmax(output[0]))) if output.ndim == 2 and output.shape[1] > 1 else None


def _word(record: Record, index: int) -> int | str:
    return record.spec.labels[index] if index < len(record.spec.labels) else index
