"""What became of one model in one format: a line of JSON.

Tests write such lines as they convert; `tools/generate_conversions.py` keeps them in `docs/reference/conversions.jsonl` and
makes the page of it. Nothing on that page is written by hand, so a pair stands there only where a test has seen it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from trainyard.common.contract.conversions import Format, Target
from trainyard.converter.core.conditioning import ROUNDING
from trainyard.converter.core.report import ConversionReport, StepReport
from trainyard.converter.core.targets import WRITERS

CAUSE = 240
"""Characters of a refusal that are kept."""


class Evidence(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)

    model: str
    package: str
    """With its version, as a package index knows it; empty for the small networks of the tests."""
    weights: Literal["trained", "random"]
    format: Format
    target: Target
    verdict: Literal["equal", "refused"]
    cause: str = ""
    """Of a refusal."""
    inputs: tuple[str, ...] = ()
    """`name:dtype:shape`, as `yard convert --input` takes them."""
    max_abs_error: float | None = None
    """On inputs like the model's own, at every batch size."""
    seconds: float
    """Of the whole conversion, on the machine that it ran on."""
    exporter: str = ""
    opset: int | None = None
    versions: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    """What the report says of edge cases where the model's own answer hangs on rounding."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.format, self.target, self.model


@dataclass(frozen=True, slots=True)
class Subject:
    """What was converted."""

    model: str
    format: Format
    package: str = ""
    weights: Literal["trained", "random"] = "random"
    inputs: tuple[str, ...] = ()
    """As they were declared; empty: as the model says of itself."""


def of_report(subject: Subject, report: ConversionReport) -> list[Evidence]:
    """A line for ONNX, and one for each other target that was tried."""
    described = tuple(f"{item['name']}:{item['dtype']}:{','.join(map(str, item['shape']))}" for item in report.inputs)
    steps: dict[str, StepReport] = {step.name: step for step in report.steps if step.name in WRITERS}
    equal = bool(report.comparisons) and all(item["passed"] for item in report.comparisons)
    onnx = Evidence(
        model=subject.model,
        package=subject.package,
        weights=subject.weights,
        format=subject.format,
        target="onnx",
        verdict="equal" if equal else "refused",
        cause="" if equal else report.summary[:CAUSE],
        inputs=subject.inputs or described,
        max_abs_error=report.max_abs_error if equal else None,
        seconds=round(report.seconds - sum(step.seconds for step in steps.values()), 1),
        exporter=report.exporter or "",
        opset=report.opset,
        excused=tuple(note for note in report.notes if ROUNDING in note) if equal else (),
        versions=(report.framework, *(f"{tool} {report.tools[tool]}" for tool in ("onnx", "onnxruntime"))),
    )
    return [onnx, *_served(onnx, report, steps.values()), *_written(onnx, report, steps)]


def _served(onnx: Evidence, report: ConversionReport, steps: Iterable[StepReport]) -> list[Evidence]:
    if report.served is not None and report.served.passed:
        served = {"max_abs_error": report.served.max_abs_error, "versions": (report.served.server,), "excused": ()}
        return [onnx.model_copy(update={"target": "triton", **served})]
    if report.verdict == "failed" and onnx.verdict == "equal" and all(step.passed for step in steps):
        failed = {"verdict": "refused", "cause": report.summary[:CAUSE], "max_abs_error": None, "excused": ()}
        return [onnx.model_copy(update={"target": "triton", **failed})]
    return []


def _written(onnx: Evidence, report: ConversionReport, steps: Mapping[str, StepReport]) -> list[Evidence]:
    written = {target.target: target for target in report.targets}
    found = []
    for name, step in steps.items():
        target = written.get(name)
        changes = {
            "target": name,
            "verdict": "equal" if step.passed else "refused",
            "cause": "" if step.passed else step.message[:CAUSE],
            "max_abs_error": target.max_abs_error if target and step.passed else None,
            "seconds": round(step.seconds, 1),
            "versions": (target.framework,) if target else (),
            "excused": (),
        }
        found.append(onnx.model_copy(update=changes))
    return found


def append(file: Path, lines: Iterable[Evidence]) -> None:
    with file.open("a") as stream:
        stream.writelines(line.model_dump_json(exclude_defaults=True) + "\n" for line in lines)


def read(file: Path) -> list[Evidence]:
    """Raises ValidationError for a line that is none, OSError."""
    return [Evidence.model_validate_json(line) for line in file.read_text().splitlines()]
