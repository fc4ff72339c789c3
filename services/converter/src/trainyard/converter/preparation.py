"""Before anything is exported: what the model is, what goes into it, and the inputs that it is proven on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from trainyard.common.clock import Clock
from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput, Problem, TrainyardError
from trainyard.converter.adapters import datasets, opening, sandbox
from trainyard.converter.adapters.files import read_arrays
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.core import cases, conditioning, formats, gate, preprocessing, signatures
from trainyard.converter.core.claims import Claims
from trainyard.converter.core.ladder import Rung
from trainyard.converter.ports import Exporter, ExportFault, ExportRequest, Rewriter, ServingCheck, TargetWriter
from trainyard.converter.record import Opened, Record


class ConversionFault(TrainyardError):
    """The conversion has failed for good; the report tells why. `report` is its folder."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        self.report: Path | None = None
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Tools:
    exporter: Exporter
    serving: ServingCheck
    clock: Clock
    state: Path
    targets: TargetWriter
    claims: Claims = field(default_factory=Claims)
    rewriter: Rewriter = field(default_factory=WorkerRewriter)
    limits: sandbox.Limits = field(default_factory=sandbox.Limits)
    """Of running what was exported."""


async def prepare(record: Record, tools: Tools) -> None:
    """Raises InvalidInput, ModelFault, ConversionFault."""
    record.request = _on_this_side(record.request, tools.claims)
    record.opening = await asyncio.to_thread(_open, record)
    record.inputs = record.spec.inputs or await _told_by_itself(record, tools)
    await asyncio.to_thread(_cases, record)


def export_request(record: Record, rung: Rung | None, folder: str) -> ExportRequest:
    spec, opened = record.spec, record.opened
    return ExportRequest(
        format=opened.format,
        source=opened.source,
        image=record.request.spec.image,
        workdir=Path(record.request.spec.workdir),
        model=spec.model,
        weights=opened.path,
        trust=spec.trust,
        signature=spec.signature,
        inputs=tuple(item.model_dump(mode="json") for item in record.inputs),
        output_names=tuple(item.name for item in spec.outputs),
        rung=rung,
        cases={**record.cases, **conditioning.twins(record.cases)},
        folder=record.work(folder),
    )


def _on_this_side(request: ConversionRequested, claims: Claims) -> ConversionRequested:
    folders = {name: str(claims.local(getattr(request.spec, name))) for name in ("workdir", "artifacts")}
    return request.model_copy(update={"spec": request.spec.model_copy(update=folders)})


def _open(record: Record) -> Opened:
    spec = record.spec
    path = Path(record.request.spec.artifacts) / spec.weights
    found = opening.format_of(path, record.request.spec.framework, spec.format)
    source = formats.SOURCES[found]
    problems = []
    if source.code and not spec.trust:
        problems.append(
            Problem(f"reading {found} can run code that lies in it", "convert.trust", "set it if you trust the file")
        )
    if source.factory and not spec.model:
        words = "module:factory, which gives the untrained model"
        problems.append(
            Problem(f"{found} holds weights only; what builds the model is missing", "convert.model", words)
        )
    if not source.inputs and not spec.inputs:
        words = "name, dtype and shape of each"
        problems.append(Problem(f"{found} does not say what goes into the model", "convert.inputs", words))
    if problems:
        raise InvalidInput(problems)
    return Opened(found, source, path)


async def _told_by_itself(record: Record, tools: Tools) -> tuple[TensorSpec, ...]:
    request = export_request(record, None, "inspection")
    try:
        found = await tools.exporter.inspect(request)
    except ExportFault as error:
        raise ConversionFault("model", f"the model cannot be read: {error}") from error
    return signatures.declared(found.inputs)


def _cases(record: Record) -> None:
    spec = record.spec
    names = [item.name for item in (*record.inputs, *spec.outputs)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput([Problem(f"{name!r} is there twice", "convert.inputs", "name each once") for name in twice])
    if spec.samples is not None and spec.samples.startswith(datasets.SCHEME):
        record.samples, words = datasets.read(spec.samples, frozenset(item.name for item in record.inputs))
        record.note(words)
    elif spec.samples is not None:
        record.samples = read_arrays(Path(record.request.spec.artifacts) / spec.samples)
    else:
        record.note("no samples were given: the proof rests on generated inputs")
    record.cases = cases.build(record.inputs, spec.batch_sizes, record.samples)
    if spec.preprocessing or spec.columns:
        preprocessing.check(spec.preprocessing, record.inputs, spec.columns)
        batches = cases.sizes(record.inputs, spec.batch_sizes)
        record.sent, taken = preprocessing.prepared(
            spec.preprocessing, spec.columns, record.inputs, batches, record.cases
        )
        record.cases |= taken
    elif spec.postprocessing:
        record.sent = {case: inputs for case, inputs in record.cases.items() if case.startswith(gate.ORDINARY)}
