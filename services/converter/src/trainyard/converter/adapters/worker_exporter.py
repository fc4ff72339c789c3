"""Exporting a model: a worker in the interpreter of the image that it was trained in, or of its format's environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from trainyard.converter.adapters import answers, onnx_files, sandbox, worker
from trainyard.converter.core.cases import Case
from trainyard.converter.ports import Exported, ExportRequest, Inspected, Layers

Interpreter = Callable[[ExportRequest], Awaitable[Path]]
"""The Python that reads a request's model; builds its image first where it is missing."""


_LOOK = 0.02  # seconds between two looks for an answer
_AT_WORK = sandbox.Outcome(None, "", "")


class WorkerExporter:
    """Implements ports.Exporter."""

    def __init__(self, interpreter: Interpreter, limits: sandbox.Limits | None = None) -> None:
        self._interpreter = interpreter
        self._limits = limits or sandbox.Limits()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        found = Session(self._interpreter, self._limits)
        try:
            yield found
        finally:
            await found.close()

    async def inspect(self, request: ExportRequest) -> Inspected:
        return await asyncio.to_thread(inspected, request.folder, await self._run(request))

    async def export(self, request: ExportRequest) -> Exported:
        return await asyncio.to_thread(answer, request.folder, await self._run(request), self._limits, request.cases)

    async def layers(self, request: ExportRequest) -> Layers:
        python = await self._interpreter(request)
        wanted = {**document(request), "layers_of": "model"}
        outcome = await worker.run(python, request.folder, wanted, request.cases, self._limits)
        told = await asyncio.to_thread(answers.told, request.folder, outcome, answers.Named)
        answers.own(request.folder / "layers.npz")
        return Layers(tuple(told.names), request.folder / "layers.npz")

    async def _run(self, request: ExportRequest) -> sandbox.Outcome:
        python = await self._interpreter(request)
        return await worker.run(python, request.folder, document(request), request.cases, self._limits)


class Session(WorkerExporter):
    """The first look at a model and its first export in one process: to import a framework takes longer than most exports."""

    _waiting: asyncio.Task[sandbox.Outcome] | None = None
    _folder = Path()

    async def inspect(self, request: ExportRequest) -> Inspected:
        python = await self._interpreter(request)
        self._folder = request.folder
        run = worker.run(python, request.folder, document(request, waits=True), request.cases, self._limits)
        self._waiting = asyncio.create_task(run)
        while not self._waiting.done() and not (request.folder / "answer.json").exists():
            await asyncio.wait({self._waiting}, timeout=_LOOK)
        outcome = self._waiting.result() if self._waiting.done() else _AT_WORK
        return await asyncio.to_thread(inspected, request.folder, outcome)

    async def close(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait({self._waiting})

    async def _run(self, request: ExportRequest) -> sandbox.Outcome:
        waiting, self._waiting = self._waiting, None
        if waiting is None or waiting.done():
            return await super()._run(request)
        await asyncio.to_thread(worker.lay_out, request.folder, document(request), request.cases, self._limits)
        following = self._folder / "next"
        following.with_suffix(".writing").write_text(str(request.folder))
        following.with_suffix(".writing").rename(following)
        outcome = await waiting
        return await super()._run(request) if following.exists() else outcome  # it died before it took it


def document(request: ExportRequest, waits: bool = False) -> dict[str, Any]:
    """What the worker reads. `waits`: for another request after this one."""
    return {
        "waits": waits,
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
    onnx_files.own(folder / "model.onnx")
    return Exported(
        folder / "model.onnx",
        answers.arrays(folder / "references.npz", cases, found.output_names),
        tuple(found.output_names),
        found.parameters,
        found.framework,
        limits.describe(),
        found.reference_seconds,
        found.licence,
        found.note,
    )
