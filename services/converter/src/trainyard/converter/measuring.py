"""What a smaller graph or a lower precision brings: each model timed by itself, one behind the other."""

from __future__ import annotations

from pathlib import Path

from trainyard.converter.core import cases, precision
from trainyard.converter.core.report import TimingReport
from trainyard.converter.ports import Exported, Tell
from trainyard.converter.preparation import Tools
from trainyard.converter.record import Record


async def measure(record: Record, tools: Tools, before: Exported, tell: Tell) -> None:
    """`before`: as it was exported."""
    if not (record.spec.optimise or record.spec.precision):
        return
    await tell("measure", "timing the model before and after", 0.74)
    models = {"as exported": before.onnx, "model.onnx": record.scratch / "model.onnx"}
    if record.spec.precision:
        lowered = precision.file_of(record.spec.precision)
        models[lowered] = record.scratch / lowered
    batches = (min(record.batch_sizes), max(record.batch_sizes))
    for batch in dict.fromkeys(batches):
        for name, path in models.items():
            record.timings.append(await _timed(record, tools, name, path, batch))


async def _timed(record: Record, tools: Tools, name: str, path: Path, batch: int) -> TimingReport:
    inputs = record.cases[cases.name("samples" if record.samples else "random", batch)]
    timing = await tools.rewriter.time(path, inputs, record.work(f"timing-{len(record.timings)}"))
    return TimingReport(
        model=name,
        batch=batch,
        p50_ms=round(timing.p50_ms, 3),
        p99_ms=round(timing.p99_ms, 3),
        rows_per_second=round(timing.per_second * batch, 1),
        memory=timing.memory,
    )
