"""Exporting a model: a worker in the interpreter of the image that it was trained in, or of its format's environment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trainyard.converter.adapters import answers, sandbox, worker
from trainyard.converter.core.cases import Case
from trainyard.converter.ports import Exported, ExportRequest, Inspected

Interpreter = Callable[[ExportRequest], Awaitable[Path]]
"""The Python that reads a request's model; builds its image first where it is missing."""


class WorkerExporter:
    """Implements ports.Exporter."""

    def __init__(self, interpreter: Interpreter, limits: sandbox.Limits | None = None) -> None:
        self._interpreter = interpreter
        self._limits = limits or sandbox.Limits()

    async def inspect(self, request: ExportRequest) -> Inspected:
        return await asyncio.to_thread(inspected, request.folder, await self._run(request))

    async def export(self, request: ExportRequest) -> Exported:
        return await asyncio.to_thread(answer, request.folder, await self._run(request), self._limits, request.cases)

    async def _run(self, request: ExportRequest) -> sandbox.Outcome:
        python = await self._interpreter(request)
        return await worker.run(python, request.folder, document(request), request.cases, self._limits)


def document(request: ExportRequest) -> dict[str, Any]:
    """What the worker reads."""
    return {
        "worker": request.source.worker,
        "format": request.format,
        "trust": request.trust,
        "signature": request.signature,
        "workdir": str(request.workdir),
        "paths": [str(request.folder / "lib")],  # a model beside a training script may import what jobs import
        "model": request.model,
        "weights": str(request.weights),
        "inputs": list(request.inputs),
        "output_names": list(request.output_names),
        "rung": asdict(request.rung) if request.rung else None,
    }


def inspected(folder: Path, outcome: sandbox.Outcome) -> Inspected:
    """What the model says of itself. Raises ModelFault, ExportFault or Retryable."""
    found = answers.told(folder, outcome, answers.Inspection)
    inputs, outputs = (tuple(item.tensor() for item in items or ()) for items in (found.inputs, found.outputs))
    return Inspected(inputs, outputs, found.framework)


def answer(folder: Path, outcome: sandbox.Outcome, limits: sandbox.Limits, cases: Mapping[str, Case]) -> Exported:
    """What the worker left behind. Raises ModelFault, ExportFault or Retryable."""
    found = answers.told(folder, outcome, answers.Export)
    answers.own(folder / "model.onnx")
    return Exported(
        folder / "model.onnx",
        answers.arrays(folder / "references.npz", cases, found.output_names),
        tuple(found.output_names),
        found.parameters,
        found.framework,
        limits.describe(),
    )
