"""What is known of a conversion so far, and the report that is made from it, however far it came.

The report and everything beside it are written into the scratch folder and published by one rename.
"""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from trainyard.common.clock import Clock
from trainyard.common.contract.conversions import ConvertSpec, Format, TensorSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.converter.adapters import licences, page, scripts
from trainyard.converter.adapters.files import digest, publish
from trainyard.converter.adapters.onnx_model import Signature
from trainyard.converter.adapters.scripts import Script
from trainyard.converter.core import cases, gate, ladder
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.formats import Source
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.licences import UNKNOWN
from trainyard.converter.core.report import (
    ContractReport,
    ConversionReport,
    FileReport,
    LicenceReport,
    LoweredReport,
    ServedReport,
    StepReport,
    TargetReport,
    TimingReport,
)
from trainyard.converter.core.triton import ModelConfig
from trainyard.converter.ports import Exported

WORK = "work"
"""What workers are given and leave behind; no part of the result."""
TOOLS = ("onnx", "onnxruntime", "onnxslim", "numpy", "tritonclient")


@dataclass(frozen=True, slots=True)
class Opened:
    """What the model's file was found to be."""

    format: Format
    source: Source
    path: Path


@dataclass(slots=True)
class Record:
    request: ConversionRequested
    scratch: Path
    clock: Clock
    began: float
    """By `clock.monotonic`."""
    started_at: str
    inputs: tuple[TensorSpec, ...] = ()
    """As declared, or as the model says of itself."""
    opening: Opened | None = None
    steps: list[StepReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)
    samples: dict[str, Array] = field(default_factory=dict)
    sent: dict[str, Case] = field(default_factory=dict)
    """What a client sends where the graph prepares inputs or finishes outputs, by case; the model's own cases of the same
    names are what it takes."""
    exported: Exported | None = None
    rung: ladder.Rung | None = None
    signature: Signature | None = None
    served_signature: Signature | None = None
    """Of what is served, where it is another than the model's."""
    comparisons: list[Comparison] = field(default_factory=list)
    targets: list[TargetReport] = field(default_factory=list)
    contract: ContractReport | None = None
    scripts: list[Script] = field(default_factory=list)
    """Of the steps that have held, in order."""
    lowered: LoweredReport | None = None
    timings: list[TimingReport] = field(default_factory=list)
    serves: Path = Path("model.onnx")
    """What a server is given; relative to the scratch folder."""
    config: ModelConfig | None = None
    served: ServedReport | None = None

    @property
    def spec(self) -> ConvertSpec:
        return self.request.spec.convert

    @property
    def opened(self) -> Opened:
        """Known once the request is prepared."""
        assert self.opening is not None  # noqa: S101
        return self.opening

    @property
    def name(self) -> str:
        return self.spec.name or self.request.conversion_id

    @property
    def batch_sizes(self) -> tuple[int, ...]:
        return cases.sizes(self.inputs, self.spec.batch_sizes)

    def work(self, name: str) -> Path:
        """A new folder for a worker."""
        folder = self.scratch / WORK / name
        folder.mkdir(parents=True)
        return folder

    def note(self, words: str) -> None:
        if words not in self.notes:
            self.notes.append(words)

    def step(
        self, name: str, passed: bool, message: str, began: float, proof: float = 0.0, script: Script | None = None
    ) -> None:
        """`script`: what does it again, of a step that has held."""
        seconds = round(self.clock.monotonic() - began, 3)
        step = StepReport(name=name, passed=passed, message=message, seconds=seconds, proof_seconds=round(proof, 3))
        if script is not None and passed:
            self.scripts.append(script)
            step.again, step.environment = scripts.command(len(self.scripts)), script.environment
        self.steps.append(step)


def finish(record: Record, target: Path, fault: str | None) -> ConversionReport:
    """Write the report and publish the folder as `target`. `fault`: why it failed; None: proven."""
    shutil.rmtree(record.scratch / WORK, ignore_errors=True)
    if record.exported is not None and record.scripts:
        tools = {tool: version(tool) for tool in TOOLS}
        answers = record.exported.references
        scripts.write(record.scratch, record.scripts, record.cases, answers, record.comparisons, tools)
    report = _report(record, fault)
    (record.scratch / "report.json").write_text(report.model_dump_json(indent=1))
    (record.scratch / "report.html").write_text(page.render(report))
    publish(record.scratch, target)
    return report


def _report(record: Record, fault: str | None) -> ConversionReport:
    signature, exported = record.signature, record.exported
    batches = sorted(record.batch_sizes)
    proven = f"equal on {len(record.cases)} inputs at batch sizes {', '.join(map(str, batches))}"
    return ConversionReport(
        conversion_id=record.request.conversion_id,
        job_id=record.request.job_id,
        name=record.name,
        verdict="failed" if fault else "proven",
        summary=fault or proven,
        started_at=record.started_at,
        seconds=round(record.clock.monotonic() - record.began, 3),
        framework=exported.framework if exported else record.opening.source.framework if record.opening else "",
        sandbox=exported.sandbox if exported else "",
        opset=signature.opset if signature else None,
        ir_version=signature.ir_version if signature else None,
        exporter=record.rung.exporter if record.rung else None,
        parameters=exported.parameters if exported else None,
        operators=dict(signature.operators) if signature else {},
        inputs=[asdict(item) for item in signature.inputs] if signature else [],
        outputs=[asdict(item) for item in signature.outputs] if signature else [],
        batch_sizes=batches,
        max_abs_error=gate.usual_error(record.comparisons),
        contract=record.contract,
        steps=record.steps,
        comparisons=[asdict(item) for item in record.comparisons],
        notes=record.notes,
        targets=record.targets,
        lowered=record.lowered,
        timings=record.timings,
        served=record.served,
        licence=_licence(record),
        files=[
            FileReport(path=str(file.relative_to(record.scratch)), bytes=file.stat().st_size, sha256=digest(file))
            for file in sorted(record.scratch.rglob("*"))
            if file.is_file()
        ],
        tools={tool: version(tool) for tool in TOOLS},
    )


def _licence(record: Record) -> LicenceReport:
    tools = {tool: licences.of_tool(tool) for tool in TOOLS}
    if record.opening is None:
        return LicenceReport(tools=tools)
    stored = record.exported.licence if record.exported else ""
    said = licences.of_model(record.opening.path, record.opening.format, stored)
    return LicenceReport(model=next(iter(said.values()), UNKNOWN), said_by=said, tools=tools)
