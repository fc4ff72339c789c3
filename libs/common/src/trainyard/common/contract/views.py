"""What the gateway answers: the public shape of jobs, conversions and models. The SDK reads the same models."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from trainyard.common.contract.inventory import Node
from trainyard.common.lifecycle.states import State


class View(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class ConversionView(View):
    conversion_id: str
    job_id: str | None = None
    name: str
    owner: str
    state: str
    """`requested`, `running`, `succeeded` or `failed`."""
    step: str | None = None
    fraction: float = 0.0
    message: str | None = None
    requested_at: str
    ended_at: str | None = None
    result: dict[str, Any] | None = None
    """The `succeeded` or `failed` event: paths, numbers, report."""
    last_seq: int


class JobView(View):
    job_id: str
    name: str
    project: str
    framework: str
    owner: str
    labels: dict[str, str] = {}
    state: State
    attempt: int = 0
    reason: str | None = None
    """Why it ended or restarts, as a word."""
    message: str | None = None
    """The same in a sentence."""
    submitted_at: str
    started_at: str | None = None
    ended_at: str | None = None
    retry_of: str | None = None
    spec: dict[str, Any]
    """As it was submitted."""
    replicas: dict[str, int] = {}
    """Role → replicas that are asked for: the spec's, or those of the last resize."""
    replicas_now: dict[str, int] = {}
    """Role → replicas of the attempt that began last; empty before the first."""
    resolution: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    """The newest progress event."""
    restarts: dict[str, Any] | None = None
    """The newest restart: which attempt ended, why, the budget that paid, and what each has paid so far (`used`)."""
    result: dict[str, Any] | None = None
    """The event that ended it."""
    conversions: list[ConversionView] = []
    last_seq: int
    """Stream sequence of the newest event that this view shows."""


class JobPage(View):
    jobs: list[JobView]
    total: int = 0
    """How many jobs match, on all pages."""
    next: str | None = None
    """Pass as `cursor` for the page after this one; absent on the last."""


class ConversionPage(View):
    conversions: list[ConversionView]
    next: str | None = None


class ModelView(View):
    name: str
    conversion_id: str
    job_id: str | None = None
    created_at: str
    onnx: str | None = None
    repository: str | None = None
    report: str | None = None


class ModelPage(View):
    models: list[ModelView]


class TemplateSummary(View):
    name: str
    version: str
    framework: str
    task: str
    title: dict[str, str]
    """By language: `en`, `zh`."""
    description: dict[str, str]
    built_in: bool = False
    """It ships with Trainyard."""
    owner: str | None = None
    published_at: str | None = None
    versions: list[str] = []
    """All that there are, newest first."""


class TemplatePage(View):
    templates: list[TemplateSummary]


class TemplateView(TemplateSummary):
    parameters: dict[str, Any]
    """In the order of the form."""
    limits: dict[str, Any] = {}
    """The template's own."""
    job: dict[str, Any]
    """The job file with its placeholders."""


class RenderedView(View):
    template: str
    version: str
    job: dict[str, Any]
    """A job file, ready to be submitted."""
    values: dict[str, Any]
    """Every parameter with what it became, defaults included."""
    left_out: list[str] = []
    """Parameters that are `auto`: what runs in the job decides."""


class EventView(View):
    seq: int
    id: str
    kind: str
    time: str
    source: str
    data: dict[str, Any]


class EventPage(View):
    events: list[EventView]


class ReasonView(View):
    rule: str
    text: str
    passed: bool = True
    details: list[str] = []


class ExplanationView(View):
    """What the matrix makes of a job file, and why."""

    fits: bool
    resolution: dict[str, Any] | None = None
    """Image, accelerator, pod resources, labels; absent where nothing fits."""
    message: str | None = None
    """Why nothing fits."""
    nearest: list[str] = []
    """What to write in the job file instead, nearest first."""
    reasons: list[ReasonView] = []


class FindingView(View):
    table: str
    row: str
    text: str
    fault: bool
    """False: a gap, or a source that should be read again."""


class MatrixView(View):
    tables: dict[str, list[dict[str, str]]]
    """Name of the table → its rows, each with source and date."""
    images: list[dict[str, Any]] = []
    findings: list[FindingView] = []
    """What is wrong in the tables, and what they do not know."""


class NodePage(View):
    nodes: list[Node]
    """By name."""


class SourcesView(View):
    """How folders come to the machines that jobs run on."""

    wanted: bool
    """Jobs run elsewhere: a job's folder has to be sent, as an archive, before the job."""
    shared: bool
    """The gateway sees the folders of whoever submits, and sends them itself."""
    most: int
    """Bytes that an archive may have."""


class SourceView(View):
    source: str
    """What a job file says in `source`."""
    size: int
    """Bytes."""


class ProblemView(View):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, str]] | None = None
