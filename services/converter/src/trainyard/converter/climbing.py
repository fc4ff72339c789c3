"""The ladder: rung by rung until what an exporter wrote is accepted and computes the same numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from trainyard.converter import diagnosing
from trainyard.converter.adapters import check, scripts, worker_exporter
from trainyard.converter.adapters.check import CheckRequest
from trainyard.converter.adapters.images import USUAL
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.core import cases, conditioning, formats, gate, ladder, ties
from trainyard.converter.core.cases import Array
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import Exported, ExportFault, ModelFault, NothingToDo, Tell
from trainyard.converter.preparation import ConversionFault, Tools, export_request
from trainyard.converter.record import Record


async def climb(record: Record, tools: Tools, tell: Tell) -> Exported:
    """Rung by rung until one is exported, accepted and equal."""
    limits = ladder.limits(version("onnxruntime"))
    rungs = ladder.rungs(record.opened.source.exporters, record.spec.opset, limits)
    faults = []
    for index, rung in enumerate(rungs):
        began, fraction = tools.clock.monotonic(), 0.1 + 0.6 * index / len(rungs)
        await tell("export", rung.describe(), fraction)
        try:
            exported = await tools.exporter.export(export_request(record, rung, f"rung-{index}"))
            written = tools.clock.monotonic()
            await tell("verify", f"comparing {len(record.cases)} inputs", fraction + 0.4 / len(rungs))
            checked = await check.run(check_request(record, exported.onnx, f"rung-{index}-check"), tools.limits)
            comparisons = await asyncio.to_thread(held, record, exported, checked.found)
            _empty(record, exported)
        except ExportFault as error:
            faults += [] if isinstance(error, NothingToDo) else [str(error)]
            record.step(rung.describe(), False, str(error), began)
            continue
        record.exported, record.rung, record.comparisons = exported, rung, comparisons
        record.signature = checked.signature
        for name in sorted({item.name for item in record.inputs} - {item.name for item in record.signature.inputs}):
            record.note(f"input {name!r} is not used by the model and is not part of the ONNX model")
        wrong = [item for item in comparisons if not item.passed]
        proof = exported.reference_seconds + tools.clock.monotonic() - written
        if not wrong:
            script = _script(record, rung, exported)
            words = f"equal on {len(record.cases)} inputs" + (f"; {exported.note}" if exported.note else "")
            record.step(rung.describe(), True, words, began, proof, script)
            return exported
        faults.append(f"{wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}")
        record.step(rung.describe(), False, faults[-1], began, proof)
    # The newest exporter's words name the user's own line; the older one's, the operator that it lacks.
    told = "; ".join(dict.fromkeys((faults[0], faults[-1])))
    if record.comparisons:
        where = await diagnosing.begins(record, tools)
        raise ConversionFault("numbers", f"the numbers differ: {told}{where}")
    raise ConversionFault("export", f"the model cannot be exported: {told}")


def _script(record: Record, rung: Rung, exported: Exported) -> Script:
    """`{result}`: paths into the work folder are gone by then."""
    request = worker_exporter.document(replace(export_request(record, rung, "again"), folder=Path()))
    source = record.opened.source
    where = (
        scripts.OWN if source.environment == formats.OWN else source.environment or record.request.spec.image or USUAL
    )
    return Script(rung.describe(), f"{where}: {exported.framework}", "model.onnx", request)


def check_request(record: Record, onnx: Path, folder: str) -> CheckRequest:
    """All of the cases, under the limits of the runtime that will serve."""
    batched = {item.name for item in record.inputs if cases.has_batch(item)}
    return CheckRequest(onnx, record.cases, batched, ladder.limits(version("onnxruntime")), record.work(folder))


def held(record: Record, exported: Exported, found: Mapping[str, Mapping[str, Array]]) -> list[Comparison]:
    """Every output of every case against what the framework computes. Raises ExportFault where one is missing."""
    outputs = set(next(iter(found.values()), {}))
    missing = sorted(set(exported.output_names) - outputs)
    if missing:
        raise ExportFault(f"output {', '.join(missing)} is not in the exported model")
    comparisons = []
    for case in record.cases:
        comparisons += compared(record, case, exported.references, found[case])
    return comparisons


def _empty(record: Record, exported: Exported) -> None:
    """Tells of outputs that no comparison has seen a number of. Raises ModelFault where there is no other."""
    empty = [
        name
        for name in exported.output_names
        if not any(references[name].size for references in exported.references.values())
    ]
    if len(empty) == len(exported.output_names):
        raise ModelFault(
            "every output is empty on all inputs, so there is nothing to compare: held-out samples may help"
        )
    for name in empty:
        record.note(f"output {name!r} is empty on all inputs, so nothing of it was compared")


def compared(
    record: Record, case: str, references: Mapping[str, Mapping[str, Array]], found: Mapping[str, Array]
) -> list[Comparison]:
    """Every output of one case against what the framework computes. `references`: of all cases, by name."""
    comparisons = []
    for name, reference in references[case].items():
        comparison = gate.compare(case, name, reference, found[name], record.spec.tolerance)
        rows = None if comparison.passed else ties.tied(name, case, references, found)
        if rows is not None:
            record.note(f"{name}: two classes are equally likely in rows {list(rows)} of {case}, so either is right")
            comparison = replace(comparison, passed=True, fault="")
        excused = None if comparison.passed else conditioning.excused(comparison, references, found)
        if excused is not None:
            words = f"{name}: on {case} {conditioning.ROUNDING}"
            record.note(f"{words}, so differences up to {excused.atol:.2g} are let through there")
            comparison = excused
        comparisons.append(comparison)
    return comparisons
