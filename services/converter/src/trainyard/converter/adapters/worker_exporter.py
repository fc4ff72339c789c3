"""A worker from our side: request file in, sandboxed run in the interpreter of an image, answer file out."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import trainyard.worker
from trainyard.common.errors import Retryable
from trainyard.converter import workers
from trainyard.converter.adapters import sandbox
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.triton import Tensor
from trainyard.converter.ports import Exported, ExportFault, ExportRequest, Inspected, ModelFault

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
        return await asyncio.to_thread(answer, request.folder, await self._run(request), self._limits)

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
    found = told(folder, outcome)
    inputs, outputs = (
        tuple(Tensor(item["name"], item["dtype"], tuple(item["shape"])) for item in found[name] or ())
        for name in ("inputs", "outputs")
    )
    return Inspected(inputs, outputs, found["framework"])


def answer(folder: Path, outcome: sandbox.Outcome, limits: sandbox.Limits) -> Exported:
    """What the worker left behind. Raises ModelFault, ExportFault or Retryable."""
    found = told(folder, outcome)
    return Exported(
        folder / "model.onnx",
        arrays(folder / "references.npz"),
        tuple(found["output_names"]),
        found["parameters"],
        found["framework"],
        limits.describe(),
    )


def arrays(file: Path) -> dict[str, dict[str, Array]]:
    """Case → name → array, as a worker stores them."""
    found: dict[str, dict[str, Array]] = {}
    with np.load(file, allow_pickle=False) as stored:
        for key in stored.files:
            case, _, name = key.rpartition("/")
            found.setdefault(case, {})[name] = stored[key]
    return found


def told(folder: Path, outcome: sandbox.Outcome) -> dict[str, Any]:
    """The worker's answer. Raises ModelFault, ExportFault or Retryable."""
    if outcome.fault:
        raise ModelFault(f"the model was ended: {outcome.fault}")
    file = folder / "answer.json"
    if not file.exists():
        last = outcome.output.strip().splitlines()[-1:] or ["without a word"]
        if outcome.code == -signal.SIGXCPU:
            raise ModelFault("the model was ended: it used more processor time than it may")
        how = f"signal {-outcome.code}" if outcome.code is not None and outcome.code < 0 else f"code {outcome.code}"
        raise ExportFault(f"the export ended with {how}: {last[0][:300]}")
    found: dict[str, Any] = json.loads(file.read_text())
    if (folder / "model.onnx").is_symlink():  # a model that runs code might have another file published as itself
        raise ModelFault("the model was ended: it left a link in place of what was exported")
    match found.get("fault"):
        case "model":
            raise ModelFault(found["message"])
        case "export":
            raise ExportFault(found["message"])
        case "machine":
            raise Retryable(f"the machine failed the export: {found['message']}", delay=30)
    return found
