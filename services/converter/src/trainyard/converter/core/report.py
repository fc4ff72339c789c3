"""The report of a conversion: the verdict first, then everything that it rests on. JSON by this model; HTML from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from trainyard.converter.core.gate import Comparison
from trainyard.converter.core.licences import UNKNOWN
from trainyard.converter.core.triton import Tensor


class ReportModel(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class StepReport(ReportModel):
    name: str
    passed: bool
    message: str = ""
    seconds: float = 0.0
    proof_seconds: float = 0.0
    """Of these, for the framework's own answers, those of what was exported, and comparing them."""
    again: str = ""
    """The command that does it again, in the folder of the result; empty where there is none."""
    environment: str = ""
    """What it wants to be installed."""


class FileReport(ReportModel):
    path: str
    """Relative to the report."""
    bytes: int
    sha256: str


class ServedReport(ReportModel):
    endpoint: str
    server: str
    sample: int
    """Index of the held-out sample that was asked."""
    label: int | str | None = None
    predicted: int | str | None = None
    reference: int | str | None = None
    """What the framework itself predicts."""
    max_abs_error: float
    passed: bool


class TargetReport(ReportModel):
    target: str
    """Its files lie in the folder of this name beside the report, where it passed."""
    framework: str
    """What read it back and computed with it."""
    passed: bool
    max_abs_error: float | None = None
    comparisons: list[dict[str, Any]] = []


class LoweredReport(ReportModel):
    """The model that is served, in another precision than it was trained in."""

    precision: str
    framework: str
    """What lowered it."""
    kept: list[str] = []
    """Tensors whose nodes stay as they were: the numbers would not have held."""
    max_abs_error: float | None = None
    bytes_before: int
    bytes_after: int
    accuracy_before: float | None = None
    """Share of the labelled samples whose class is right; None without labels."""
    accuracy_after: float | None = None
    comparisons: list[dict[str, Any]] = []


class LicenceReport(ReportModel):
    """What files say, quoted; nobody has judged what it allows."""

    model: str = UNKNOWN
    said_by: dict[str, str] = {}
    """Each file that says one, with its words: those of the model's own file come first."""
    tools: dict[str, str] = {}
    """Of what the conversion was made with, by name."""


class ContractReport(ReportModel):
    """What a client sends and gets, where the graph prepares inputs or finishes outputs; the report's `inputs` and `outputs`
    are those of the model itself."""

    file: str
    inputs: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    preprocessing: list[dict[str, Any]] = []
    columns: list[dict[str, Any]] = []
    postprocessing: list[dict[str, Any]] = []
    comparisons: list[dict[str, Any]] = []

    @classmethod
    def of(
        cls,
        file: Path,
        inputs: Sequence[Tensor],
        outputs: Sequence[Tensor],
        blocks: Mapping[str, list[dict[str, Any]]],
        comparisons: Sequence[Comparison],
    ) -> ContractReport:
        ends = {"inputs": [asdict(item) for item in inputs], "outputs": [asdict(item) for item in outputs]}
        return cls(file=str(file), **ends, **blocks, comparisons=[asdict(item) for item in comparisons])


class TimingReport(ReportModel):
    """On the converter's machine, by onnxruntime's CPU provider."""

    model: str
    batch: int
    p50_ms: float
    p99_ms: float
    rows_per_second: float
    memory: int
    """Bytes that the process had more than before it loaded the model, at most."""


class ConversionReport(ReportModel):
    version: Literal[1] = 1
    conversion_id: str
    job_id: str | None = None
    name: str
    verdict: Literal["proven", "failed"]
    summary: str
    started_at: str
    seconds: float
    framework: str
    sandbox: str
    """What held the model's code: limits, and whether it had a network."""
    opset: int | None = None
    ir_version: int | None = None
    exporter: str | None = None
    parameters: int | None = None
    operators: dict[str, int] = {}
    inputs: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    batch_sizes: list[int] = []
    max_abs_error: float | None = None
    """Over the samples and the generated inputs of their range; edge cases are in `comparisons`."""
    contract: ContractReport | None = None
    """Of what is served, where it is another than the model's."""
    steps: list[StepReport] = []
    comparisons: list[dict[str, Any]] = []
    notes: list[str] = []
    targets: list[TargetReport] = []
    """What was written beside ONNX and Triton's repository, and computed."""
    lowered: LoweredReport | None = None
    timings: list[TimingReport] = []
    """Before and after, where a smaller graph or a lower precision was asked for."""
    served: ServedReport | None = None
    licence: LicenceReport = LicenceReport()
    files: list[FileReport] = []
    tools: dict[str, str] = {}
