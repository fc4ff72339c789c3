"""One conversion from request to proof: export, check, verify, repository, serving, report.

The order is that of trust: nothing is written for Triton before the numbers agree, and nothing is called proven before a
server has answered with them. Everything is made in a scratch folder and published by one rename, so a crash leaves either
the whole result or none, and the next delivery of the request begins anew.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np

from trainyard.common.clock import Clock, rfc3339
from trainyard.common.contract.conversions import ConvertSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.converter.adapters import onnx_model, page, repository
from trainyard.converter.adapters.files import digest, publish
from trainyard.converter.adapters.onnx_model import Runtime, Signature
from trainyard.converter.core import cases, gate, ladder, triton
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.report import ConversionReport, FileReport, ServedReport, StepReport
from trainyard.converter.ports import Exported, Exporter, ExportFault, ExportRequest, ModelFault, ServingCheck

Tell = Callable[[str, str, float], Awaitable[None]]
"""Step, words for a person, fraction done."""

TOOLS = ("onnx", "onnxruntime", "numpy", "tritonclient")


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


@dataclass(slots=True)
class Work:
    """What is known so far; the report is made from it, however far it came."""

    request: ConversionRequested
    scratch: Path
    began: float
    started_at: str
    name: str
    steps: list[StepReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cases: dict[str, Case] = field(default_factory=dict)
    samples: dict[str, Array] = field(default_factory=dict)
    exported: Exported | None = None
    rung: ladder.Rung | None = None
    signature: Signature | None = None
    comparisons: list[Comparison] = field(default_factory=list)
    served: ServedReport | None = None

    @property
    def spec(self) -> ConvertSpec:
        return self.request.spec.convert


async def convert(request: ConversionRequested, tools: Tools, tell: Tell) -> tuple[ConversionReport, Path]:
    """The report and the published folder. Raises ConversionFault (with the folder of its report), or Retryable."""
    scratch = tools.state / "conversions" / f".{request.conversion_id}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    spec = request.spec.convert
    name = spec.name or request.conversion_id
    work = Work(request, scratch, time.monotonic(), rfc3339(tools.clock.now()), name)
    try:
        await _prove(work, tools, tell)
    except (ModelFault, InvalidInput) as error:
        raise _failed(work, tools, ConversionFault("model", str(error))) from error
    except ConversionFault as error:
        raise _failed(work, tools, error) from error
    await tell("report", "writing the report", 0.97)
    return _publish(work, tools, None)


async def _prove(work: Work, tools: Tools, tell: Tell) -> None:
    await tell("prepare", "reading the samples", 0.02)
    _prepare(work)
    await _climb(work, tools, tell)
    await tell("triton", "writing the Triton repository", 0.75)
    config = _write_repository(work)
    await tell("serve", "asking a server for a prediction", 0.85)
    await _serve(work, tools, config)


def _prepare(work: Work) -> None:
    spec = work.spec
    if spec.samples is not None:
        file = Path(work.request.spec.artifacts) / spec.samples
        try:
            with np.load(file, allow_pickle=False) as stored:
                work.samples = {name: stored[name] for name in stored.files}
        except FileNotFoundError:
            raise InvalidInput.one(f"there are no samples at {file}", "convert.samples") from None
        except (ValueError, OSError) as error:
            raise InvalidInput.one(f"{file} cannot be read as .npz: {error}", "convert.samples") from error
    else:
        work.notes.append("no samples were given: the proof rests on generated inputs")
    work.cases = cases.build(spec.inputs, spec.batch_sizes, work.samples)


async def _climb(work: Work, tools: Tools, tell: Tell) -> None:
    """Rung by rung until one is exported, accepted and equal."""
    limits = ladder.limits(version("onnxruntime"))
    rungs = ladder.rungs(work.spec.opset, limits)
    for index, rung in enumerate(rungs):
        began = time.monotonic()
        await tell("export", rung.describe(), 0.1 + 0.1 * index)
        try:
            exported = await tools.exporter.export(_request(work, rung, index))
            signature = _accepted(work, exported, limits)
            await tell("verify", f"comparing {len(work.cases)} inputs", 0.5)
            comparisons = _compare(work, exported)
        except ExportFault as error:
            work.steps.append(_step(rung, False, str(error), began))
            continue
        work.exported, work.rung, work.signature, work.comparisons = exported, rung, signature, comparisons
        wrong = [item for item in comparisons if not item.passed]
        if not wrong:
            work.steps.append(_step(rung, True, f"equal on {len(work.cases)} inputs", began))
            return
        work.steps.append(_step(rung, False, f"{wrong[0].case}, output {wrong[0].output}: {wrong[0].fault}", began))
    different = bool(work.comparisons)
    reason, words = ("numbers", "the numbers differ") if different else ("export", "the model cannot be exported")
    raise ConversionFault(reason, f"{words}: {work.steps[-1].message}")


def _request(work: Work, rung: ladder.Rung, index: int) -> ExportRequest:
    spec, artifacts = work.spec, Path(work.request.spec.artifacts)
    return ExportRequest(
        image=work.request.spec.image or "pytorch-cpu",
        workdir=Path(work.request.spec.workdir),
        model=spec.model,
        weights=artifacts / spec.weights,
        inputs=tuple(item.model_dump(mode="json") for item in spec.inputs),
        output_names=tuple(item.name for item in spec.outputs),
        rung=rung,
        cases=work.cases,
        folder=work.scratch / f"rung-{index}",
    )


def _accepted(work: Work, exported: Exported, limits: ladder.Limits) -> Signature:
    signature = onnx_model.read(exported.onnx, limits)
    batched = {item.name for item in work.spec.inputs if item.shape and item.shape[0] == "batch"}
    constant = onnx_model.fixed_batch(signature, batched)
    if constant:
        raise ExportFault(f"the batch of {', '.join(constant)} became a constant")
    unused = {item.name for item in work.spec.inputs} - {item.name for item in signature.inputs}
    for name in sorted(unused):
        note = f"input {name!r} is not used by the model and is not part of the ONNX model"
        if note not in work.notes:
            work.notes.append(note)
    return signature


def _compare(work: Work, exported: Exported) -> list[Comparison]:
    runtime = Runtime(exported.onnx)
    return [
        gate.compare(case, name, reference, found[name], work.spec.tolerance)
        for case, inputs in work.cases.items()
        for found in [runtime.run(inputs)]
        for name, reference in exported.references[case].items()
    ]


def _write_repository(work: Work) -> triton.ModelConfig:
    assert work.signature is not None  # noqa: S101 - set by _climb
    assert work.exported is not None  # noqa: S101
    config = triton.configure(
        work.name,
        work.signature.inputs,
        work.signature.outputs,
        largest_batch=max(work.spec.batch_sizes),
        labels=work.spec.labels,
    )
    shutil.copy2(work.exported.onnx, work.scratch / "model.onnx")
    repository.write(work.scratch / "triton", config, work.scratch / "model.onnx")
    if config.max_batch_size == 0:
        work.notes.append("the model is served without batching: not every input and output has a free batch")
    return config


async def _serve(work: Work, tools: Tools, config: triton.ModelConfig) -> None:
    """One held-out sample (or the first generated input) through a server, against the framework's own output."""
    assert work.exported is not None  # noqa: S101 - set by _climb
    batch = min(work.spec.batch_sizes)
    case = f"samples, batch {batch}" if work.samples else f"random, batch {batch}"
    inputs = {item.name: work.cases[case][item.name] for item in config.inputs}
    endpoint, server, outputs = await tools.serving.ask(work.scratch / "triton", work.name, inputs)
    comparisons = [
        gate.compare(case, name, reference, outputs[name], work.spec.tolerance)
        for name, reference in work.exported.references[case].items()
    ]
    first = work.spec.outputs[0].name if work.spec.outputs else work.exported.output_names[0]
    labels = work.samples.get("labels")
    work.served = ServedReport(
        endpoint=endpoint,
        server=server,
        sample=0,
        label=_word(work, int(labels[0])) if labels is not None and labels.ndim == 1 else None,
        predicted=_predicted(work, outputs[first]),
        reference=_predicted(work, work.exported.references[case][first]),
        max_abs_error=max(item.max_abs for item in comparisons),
        passed=all(item.passed for item in comparisons),
    )
    wrong = [item for item in comparisons if not item.passed]
    if wrong:
        raise ConversionFault("serving", f"the server answers other numbers: {wrong[0].fault}")
    work.steps.append(StepReport(name="serve", passed=True, message=f"{server} at {endpoint} answers the same numbers"))


def _predicted(work: Work, output: Array) -> int | str | None:
    """The class of the first row, where the output has classes."""
    return _word(work, int(np.argmax(output[0]))) if output.ndim == 2 and output.shape[1] > 1 else None


def _word(work: Work, index: int) -> int | str:
    return work.spec.labels[index] if index < len(work.spec.labels) else index


def _step(rung: ladder.Rung, passed: bool, message: str, began: float) -> StepReport:
    return StepReport(name=rung.describe(), passed=passed, message=message, seconds=round(time.monotonic() - began, 3))


def _failed(work: Work, tools: Tools, error: ConversionFault) -> ConversionFault:
    _, error.report = _publish(work, tools, error)
    return error


def _publish(work: Work, tools: Tools, error: ConversionFault | None) -> tuple[ConversionReport, Path]:
    for scratch in work.scratch.glob("rung-*"):
        shutil.rmtree(scratch, ignore_errors=True)
    report = _report(work, error)
    (work.scratch / "report.json").write_text(report.model_dump_json(indent=1))
    (work.scratch / "report.html").write_text(page.render(report))
    target = tools.state / "conversions" / work.request.conversion_id
    publish(work.scratch, target)
    return report, target


def _report(work: Work, error: ConversionFault | None) -> ConversionReport:
    signature, exported = work.signature, work.exported
    # What a person asks is how far off it is on inputs like its own; the edge cases stand in the table of comparisons.
    usual = [item.max_abs for item in work.comparisons if item.case.startswith(("samples", "random"))]
    worst = max(usual, default=None)
    batches = sorted(set(work.spec.batch_sizes))
    summary = (
        str(error) if error else f"equal on {len(work.cases)} inputs at batch sizes {', '.join(map(str, batches))}"
    )
    return ConversionReport(
        conversion_id=work.request.conversion_id,
        job_id=work.request.job_id,
        name=work.name,
        verdict="failed" if error else "proven",
        summary=summary,
        started_at=work.started_at,
        seconds=round(time.monotonic() - work.began, 3),
        framework=exported.framework if exported else work.request.spec.framework,
        sandbox=exported.sandbox if exported else "",
        opset=signature.opset if signature else None,
        ir_version=signature.ir_version if signature else None,
        exporter=work.rung.exporter if work.rung else None,
        parameters=exported.parameters if exported else None,
        operators=dict(signature.operators) if signature else {},
        inputs=[asdict(item) for item in signature.inputs] if signature else [],
        outputs=[asdict(item) for item in signature.outputs] if signature else [],
        batch_sizes=batches,
        max_abs_error=worst,
        steps=work.steps,
        comparisons=[asdict(item) for item in work.comparisons],
        notes=[*work.notes, *(exported.notes if exported else ())],
        served=work.served,
        files=[
            FileReport(path=str(file.relative_to(work.scratch)), bytes=file.stat().st_size, sha256=digest(file))
            for file in sorted(work.scratch.rglob("*"))
            if file.is_file()
        ],
        tools={tool: version(tool) for tool in TOOLS},
    )
