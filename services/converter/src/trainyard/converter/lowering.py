"""A lower precision for what is served: held to its own bounds, node after node given back to the old precision until they
hold, refused where they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from trainyard.common.contract.conversions import Precision
from trainyard.converter.adapters import check, onnx_files, scripts, worker_rewriter
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.climbing import check_request
from trainyard.converter.core import cases, divergence, gate, precision
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.report import LoweredReport
from trainyard.converter.ports import Exported, ExportFault, RewriteRequest, Rewritten, Tell
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.record import Record

TRIES = 8
"""Twice as many nodes are given back each time, so that 255 are at most."""
LABELLED = "all labelled samples"


async def lower(record: Record, tools: Tools, exported: Exported, tell: Tell) -> None:
    """What is served from now on is the lowered model. Raises ConversionFault where its numbers do not hold."""
    wanted = record.spec.precision
    if wanted is None:
        return
    await tell("precision", f"computing in {wanted}", 0.72)
    kept = await _out_of_range(record, tools, exported)
    fault = ""
    for attempt in range(TRIES):
        began = tools.clock.monotonic()
        try:
            rewrite = _request(record, exported, kept, attempt)
            rewritten = await tools.rewriter.rewrite(rewrite)
            request = check_request(record, rewritten.onnx, f"{wanted}-{attempt}-check")
            asked = {**precision.ordinary(wanted, record.cases), **_labelled(record)}
            found = (await check.run(replace(request, cases=asked), tools.limits)).found
        except ExportFault as error:
            if kept:  # nothing is left that could be lowered
                break
            raise ConversionFault("precision", f"it cannot be computed in {wanted}: {error}") from error
        report = _report(wanted, rewritten, exported, kept)
        report.accuracy_before, report.accuracy_after = await _accuracy(record, tools, exported, found, attempt)
        comparisons = await asyncio.to_thread(_compared, record, wanted, exported, found)
        fault = _fault(comparisons, report)
        words = f"equal enough on {len(asked)} inputs"
        script = _script(wanted, rewrite, kept)
        record.step(_name(wanted, kept), not fault, fault or words, began, script=script)
        if not fault:
            report.comparisons = [asdict(item) for item in comparisons]
            report.max_abs_error = gate.usual_error(comparisons)
            record.lowered, record.serves = report, Path(precision.file_of(wanted))
            await asyncio.to_thread(onnx_files.copy, rewritten.onnx, record.scratch / record.serves)
            return
        case = next((item.case for item in comparisons if not item.passed), comparisons[0].case)
        folder = record.work(f"{wanted}-{attempt}-difference")
        differences = await tools.rewriter.differences(exported.onnx, rewritten.onnx, record.cases[case], folder)
        more = divergence.worst(differences, 2**attempt, kept)
        if not more:
            break
        kept += more
    raise ConversionFault(
        "precision", f"the numbers differ in {wanted}, with {len(kept)} nodes kept as they were: {fault}"
    )


async def _out_of_range(record: Record, tools: Tools, exported: Exported) -> tuple[str, ...]:
    """What stays as it is from the start."""
    if record.spec.precision != "float16":
        return ()
    found: list[str] = []
    for kind in ("samples", "random") if record.samples else ("random",):
        inputs = record.cases[cases.name(kind, max(record.batch_sizes))]
        folder = record.work(f"range-{kind}")
        found += precision.too_large(await tools.rewriter.differences(exported.onnx, exported.onnx, inputs, folder))
    record.note("float16 was computed on a processor, which widens some of it; an accelerator was not asked")
    return tuple(dict.fromkeys(found))


def _request(record: Record, exported: Exported, kept: tuple[str, ...], attempt: int) -> RewriteRequest:
    wanted = record.spec.precision
    assert wanted is not None  # noqa: S101
    kind, batched = precision.LOWER[wanted], frozenset(item.name for item in record.inputs if cases.has_batch(item))
    rows: dict[str, Case] = {}
    if kind.calibrated:
        given = {item.name: record.samples[item.name].astype(cases.dtype_of(item)) for item in record.inputs}
        rows = precision.calibration(given, batched, max(record.batch_sizes))
    folder = record.work(f"{wanted}-{attempt}")
    return RewriteRequest(kind.worker, exported.onnx, folder, keep=kept, calibration=rows)


def _script(wanted: Precision, request: RewriteRequest, kept: tuple[str, ...]) -> Script:
    again = {**worker_rewriter.document(request), "onnx": "{result}/model.onnx"}
    calibration = request.calibration or None
    return Script(
        _name(wanted, kept), scripts.OWN, precision.file_of(wanted), again, compares=False, calibration=calibration
    )


def _compared(
    record: Record, wanted: Precision, exported: Exported, found: Mapping[str, Mapping[str, Array]]
) -> list[Comparison]:
    return [
        precision.compare(wanted, case, name, reference, found[case][name])
        for case in precision.ordinary(wanted, record.cases)
        for name, reference in exported.references[case].items()
    ]


def _fault(comparisons: list[Comparison], report: LoweredReport) -> str:
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        return f"{wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}"
    before, after = report.accuracy_before, report.accuracy_after
    if before is not None and after is not None and before - after > precision.POINT:
        return f"{after:.1%} of the labelled samples are right instead of {before:.1%}"
    return ""


def _labelled(record: Record) -> dict[str, Case]:
    """All samples at once, where it is known what they are."""
    labels = record.samples.get("labels")
    batched = [item.name for item in record.inputs if cases.has_batch(item)]
    if labels is None or labels.dtype.kind not in "iu" or labels.ndim != 1 or not batched:
        return {}
    if any(len(record.samples[name]) != len(labels) for name in batched):
        return {}
    return {LABELLED: {item.name: record.samples[item.name].astype(cases.dtype_of(item)) for item in record.inputs}}


async def _accuracy(
    record: Record, tools: Tools, exported: Exported, found: Mapping[str, Mapping[str, Array]], attempt: int
) -> tuple[float | None, float | None]:
    """Of the model as it was and as it is."""
    asked, first = _labelled(record), exported.output_names[0]
    if not asked or found[LABELLED][first].ndim != 2:
        return None, None
    request = check_request(record, exported.onnx, f"labelled-{attempt}")
    before = (await check.run(replace(request, cases=asked), tools.limits)).found
    labels = record.samples["labels"]
    return (
        precision.accuracy(before[LABELLED][first], labels),
        precision.accuracy(found[LABELLED][first], labels),
    )


def _report(wanted: Precision, rewritten: Rewritten, exported: Exported, kept: tuple[str, ...]) -> LoweredReport:
    sizes = onnx_files.size(exported.onnx), onnx_files.size(rewritten.onnx)
    return LoweredReport(
        precision=wanted, framework=rewritten.framework, kept=list(kept), bytes_before=sizes[0], bytes_after=sizes[1]
    )


def _name(wanted: str, kept: tuple[str, ...]) -> str:
    return f"{wanted}, {len(kept)} nodes kept" if kept else wanted
