"""Changing an ONNX model, and comparing and timing two: workers in the converter's own interpreter, in the sandbox."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from trainyard.converter.adapters import answers, onnx_files, sandbox, worker
from trainyard.converter.core.cases import Case
from trainyard.converter.core.divergence import Difference
from trainyard.converter.ports import Layers, RewriteRequest, Rewritten, Timing

Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
WHAT = "the changed model"


class _Difference(BaseModel):
    model_config = ConfigDict(strict=True)

    tensor: answers.Name
    operator: answers.Name
    inputs: list[str]
    error: Annotated[float, Field(ge=0)] | None
    """None: infinite, which JSON does not know."""
    largest: Number
    size: answers.Count

    def difference(self) -> Difference:
        error = math.inf if self.error is None else self.error
        return Difference(self.tensor, self.operator, tuple(self.inputs), error, self.largest, self.size)


class _Differences(answers.Answer):
    differences: list[_Difference]


class _Seen(answers.Answer):
    seen: list[answers.Count]
    silent: list[answers.Count]


class _Timing(answers.Answer):
    p50_ms: Number
    p99_ms: Number
    per_second: Number
    memory: answers.Count


def document(request: RewriteRequest) -> dict[str, Any]:
    """What the worker reads."""
    options = {"keep": list(request.keep), "calibrated": bool(request.calibration), **request.options}
    return _task(request.worker, {"onnx": str(request.onnx), **options})


def _task(name: str, document: Mapping[str, Any]) -> dict[str, Any]:
    return {"task": name, "worker": name, **document}


class WorkerRewriter:
    """Implements ports.Rewriter."""

    def __init__(self, limits: sandbox.Limits | None = None) -> None:
        self._limits = limits or sandbox.Limits()

    async def rewrite(self, request: RewriteRequest) -> Rewritten:
        told = await self._run(request.worker, request.folder, document(request), request.calibration, answers.Answer)
        onnx_files.own(request.folder / "model.onnx")
        return Rewritten(request.folder / "model.onnx", told.framework)

    async def differences(self, reference: Path, other: Path, inputs: Case, folder: Path) -> list[Difference]:
        document = {"reference": str(reference), "other": str(other)}
        told = await self._run("divergence", folder, document, {"case": inputs}, _Differences)
        return [item.difference() for item in told.differences]

    async def seen(self, onnx: Path, layers: Layers, inputs: Case, folder: Path) -> list[bool | None]:
        document = {"onnx": str(onnx), "layers": str(layers.file)}
        told = await self._run("matching", folder, document, {"case": inputs}, _Seen)
        return [None if at in told.silent else at in told.seen for at in range(len(layers.names))]

    async def time(self, onnx: Path, inputs: Case, folder: Path) -> Timing:
        told = await self._run("timing", folder, {"onnx": str(onnx)}, {"case": inputs}, _Timing)
        return Timing(told.p50_ms, told.p99_ms, told.per_second, told.memory)

    async def _run(
        self, name: str, folder: Path, document: Mapping[str, Any], cases: Mapping[str, Case], form: type[answers.Form]
    ) -> answers.Form:
        request = _task(name, document)
        outcome = await worker.run(Path(sys.executable), folder, request, cases, self._limits)
        return await asyncio.to_thread(answers.told, folder, outcome, form, WHAT)
