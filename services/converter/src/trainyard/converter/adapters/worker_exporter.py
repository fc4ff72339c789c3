"""A worker from our side: request file in, sandboxed run in the interpreter of an image, answer file out."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import trainyard.worker
from trainyard.converter import workers
from trainyard.converter.adapters import answers, sandbox
from trainyard.converter.core.cases import Case
from trainyard.converter.ports import Exported, ExportRequest, Inspected

Interpreter = Callable[[ExportRequest], Awaitable[Path]]
"""The Python that reads a request's model; builds its image first where it is missing."""
START = """\
import sys
sys.path.insert(0, sys.argv[1])
from trainyard.converter.workers.main import main
for folder in sys.argv[2:]:
    main(folder)
"""


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
        await asyncio.to_thread(prepare, request, self._limits)
        return await sandbox.run(command(python, request.folder), request.folder, self._limits)


def command(python: Path, *folders: Path) -> list[str]:
    """The worker on the requests in these folders, one after the other."""
    return [str(python), "-I", "-c", START, str(folders[0] / "lib"), *map(str, folders)]


def prepare(request: ExportRequest, limits: sandbox.Limits) -> None:
    """Write what the worker reads."""
    folder = request.folder
    document = {
        "worker": request.source.worker,
        "format": request.format,
        "trust": request.trust,
        "signature": request.signature,
        "workdir": str(request.workdir),
        "paths": [str(folder / "lib")],  # a model beside a training script may import what jobs import
        "model": request.model,
        "weights": str(request.weights),
        "inputs": list(request.inputs),
        "output_names": list(request.output_names),
        "rung": asdict(request.rung) if request.rung else None,
    }
    lay_out(folder, document, request.cases, limits)


def lay_out(folder: Path, document: dict[str, Any], cases: Mapping[str, Case], limits: sandbox.Limits) -> None:
    """A worker's folder: the request, the inputs, the worker itself, and the library that jobs import."""
    for package in (trainyard.worker, workers):
        source = Path(next(iter(package.__path__)))
        target = folder / "lib" / Path(*package.__name__.split("."))
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    np.savez(
        folder / "cases.npz",
        **{f"{case}/{name}": array for case, inputs in cases.items() for name, array in inputs.items()},  # type: ignore[arg-type]
    )
    document["limits"] = {
        "cpu_seconds": max(10, math.ceil(limits.seconds * 4)),  # of several threads
        "file_bytes": limits.file_bytes,
        "memory": limits.memory,
    }
    (folder / "request.json").write_text(json.dumps(document))


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
