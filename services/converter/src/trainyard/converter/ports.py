"""What the converter needs beside the log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from trainyard.common.contract.conversions import Format, Target
from trainyard.common.errors import TrainyardError
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.divergence import Difference
from trainyard.converter.core.formats import Source
from trainyard.converter.core.ladder import Rung
from trainyard.converter.core.targets import Writer
from trainyard.converter.core.triton import Tensor

Tell = Callable[[str, str, float], Awaitable[None]]
"""Step, words for a person, fraction done."""


class ModelFault(TrainyardError):
    """The user's model, weights or samples are at fault; trying again changes nothing."""


class ExportFault(TrainyardError):
    """This rung of the ladder did not hold; the next one may."""


class NothingToDo(ExportFault):
    """This rung would only have done what an earlier one did: it is no reason of its own."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    format: Format
    source: Source
    image: str | None
    """Where the model was trained; None: told by nobody."""
    workdir: Path
    model: str | None
    """`module:factory`."""
    weights: Path
    """The file or folder that holds the model, or its weights alone."""
    trust: bool
    signature: str | None
    inputs: tuple[dict[str, Any], ...]
    """name, dtype, shape; as TensorSpec dumps them."""
    output_names: tuple[str, ...]
    rung: Rung | None
    """None: only to be inspected."""
    cases: Mapping[str, Case]
    folder: Path
    """Scratch; `model.onnx` appears in it."""


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a model says of itself; empty where its format says nothing."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    framework: str


@dataclass(frozen=True, slots=True)
class Exported:
    onnx: Path
    references: Mapping[str, Mapping[str, Array]]
    """Case → output name → what the framework computes."""
    output_names: tuple[str, ...]
    parameters: int
    framework: str
    sandbox: str
    reference_seconds: float = 0.0
    """What `references` took."""
    licence: str = ""
    """What the model says of it in its own format; empty where it says nothing."""
    note: str = ""
    """What the exporter did that a reader of the report should know."""


@dataclass(frozen=True, slots=True)
class Layers:
    names: tuple[str, ...]
    """In the order in which they are done."""
    file: Path
    """An .npz of what they give, in the same order."""


class Exporter(Protocol):
    def session(self) -> AbstractAsyncContextManager[Exporter]:
        """The same for one model: a process that has looked at it may stay for its export, and ends with the session."""
        ...

    async def inspect(self, request: ExportRequest) -> Inspected:
        """What goes in and out, by the model itself. Raises like `export`."""
        ...

    async def export(self, request: ExportRequest) -> Exported:
        """In the image's interpreter, in a sandbox. Raises ModelFault, ExportFault, or Retryable when the machine is at
        fault."""
        ...

    async def layers(self, request: ExportRequest) -> Layers:
        """What each layer gives for the request's one case. Raises like `export`; ExportFault where a format has none."""
        ...


@dataclass(frozen=True, slots=True)
class TargetRequest:
    target: Target
    writer: Writer
    onnx: Path
    inputs: tuple[dict[str, Any], ...]
    """name, dtype, shape; in the order of the ONNX model."""
    outputs: tuple[str, ...]
    """In the order of the ONNX model."""
    cases: Mapping[str, Case]
    folder: Path
    """Scratch."""


@dataclass(frozen=True, slots=True)
class Written:
    files: Path
    """A folder inside the scratch."""
    found: Mapping[str, Mapping[str, Array]]
    """Case → output name → what it computes, read back from the files."""
    framework: str
    note: str = ""
    """What else is worth telling of it."""


class TargetWriter(Protocol):
    async def write(self, request: TargetRequest) -> Written:
        """From ONNX, in the writer's environment and a sandbox. Raises ExportFault where the target cannot have this model,
        ModelFault, or Retryable when the machine is at fault."""
        ...


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    worker: str
    """Module of `trainyard.converter.workers`."""
    onnx: Path
    folder: Path
    """Scratch; `model.onnx` appears in it."""
    keep: tuple[str, ...] = ()
    """Tensors whose nodes stay as they are."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the worker."""
    calibration: Mapping[str, Case] = field(default_factory=dict)
    """Inputs that the ranges of tensors are taken from."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    onnx: Path
    framework: str


@dataclass(frozen=True, slots=True)
class Timing:
    p50_ms: float
    p99_ms: float
    per_second: float
    """Runs, not rows."""
    memory: int
    """Bytes that the process had more than before it loaded the model, at most."""


class Rewriter(Protocol):
    """Each of them raises ExportFault, ModelFault, or Retryable when the machine is at fault."""

    async def rewrite(self, request: RewriteRequest) -> Rewritten:
        """The same model by other means; whether its numbers are the same is for the caller to see."""
        ...

    async def differences(self, reference: Path, other: Path, inputs: Case, folder: Path) -> list[Difference]:
        """Of every tensor that both graphs have, in the order of the first."""
        ...

    async def seen(self, onnx: Path, layers: Layers, inputs: Case, folder: Path) -> list[bool | None]:
        """For each layer whether what it gives is there in the graph; None where it gives nothing to tell it by."""
        ...

    async def time(self, onnx: Path, inputs: Case, folder: Path) -> Timing:
        """On this machine's processor."""
        ...


class ServingCheck(Protocol):
    async def ask(self, repository: Path, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
        """Endpoint, server and outputs of one inference through a server that has loaded the repository. Raises
        TrainyardError when the server refuses the model."""
        ...
