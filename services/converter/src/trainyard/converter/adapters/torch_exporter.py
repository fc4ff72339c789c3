"""The torch worker, from our side: request file in, sandboxed run, answer file out."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import signal
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

import trainyard.worker
from trainyard.common.errors import Retryable
from trainyard.converter.adapters import sandbox, torch_worker
from trainyard.converter.core.cases import Array
from trainyard.converter.ports import Exported, ExportFault, ExportRequest, ModelFault

Interpreter = Callable[[str], Awaitable[Path]]
"""Image name → its Python; builds the image first where it is missing."""


class TorchExporter:
    """Implements ports.Exporter."""

    def __init__(self, interpreter: Interpreter, limits: sandbox.Limits | None = None) -> None:
        self._interpreter = interpreter
        self._limits = limits or sandbox.Limits()

    async def export(self, request: ExportRequest) -> Exported:
        python = await self._interpreter(request.image)
        await asyncio.to_thread(prepare, request, self._limits)
        command = [str(python), "-I", torch_worker.__file__, str(request.folder)]
        outcome = await sandbox.run(command, request.folder, self._limits)
        return await asyncio.to_thread(answer, request.folder, outcome, self._limits)


def prepare(request: ExportRequest, limits: sandbox.Limits) -> None:
    """Write what the worker reads: the request, the inputs, and the library that jobs import."""
    folder = request.folder
    library = Path(next(iter(trainyard.worker.__path__)))
    shutil.copytree(library, folder / "lib" / "trainyard" / "worker", dirs_exist_ok=True)
    np.savez(
        folder / "cases.npz",
        **{f"{case}/{name}": array for case, inputs in request.cases.items() for name, array in inputs.items()},  # type: ignore[arg-type]
    )
    document = {
        "workdir": str(request.workdir),
        "paths": [str(folder / "lib")],  # a model beside a training script may import what jobs import
        "model": request.model,
        "weights": str(request.weights),
        "inputs": list(request.inputs),
        "output_names": list(request.output_names),
        "rung": asdict(request.rung),
        "limits": {
            "cpu_seconds": max(10, math.ceil(limits.seconds * 4)),  # of several threads
            "file_bytes": limits.file_bytes,
            "memory": limits.memory,
        },
    }
    (folder / "request.json").write_text(json.dumps(document))


def answer(folder: Path, outcome: sandbox.Outcome, limits: sandbox.Limits) -> Exported:
    """What the worker left behind. Raises ModelFault, ExportFault or Retryable."""
    if outcome.fault:
        raise ModelFault(f"the model was ended: {outcome.fault}")
    file = folder / "answer.json"
    if not file.exists():
        last = outcome.output.strip().splitlines()[-1:] or ["without a word"]
        if outcome.code == -signal.SIGXCPU:
            raise ModelFault("the model was ended: it used more processor time than it may")
        how = f"signal {-outcome.code}" if outcome.code is not None and outcome.code < 0 else f"code {outcome.code}"
        raise ExportFault(f"the export ended with {how}: {last[0][:300]}")
    found = json.loads(file.read_text())
    match found.get("fault"):
        case "model":
            raise ModelFault(found["message"])
        case "export":
            raise ExportFault(found["message"])
        case "machine":
            raise Retryable(f"the machine failed the export: {found['message']}", delay=30)
    references: dict[str, dict[str, Array]] = {}
    with np.load(folder / "references.npz", allow_pickle=False) as stored:
        for key in stored.files:
            case, _, name = key.rpartition("/")
            references.setdefault(case, {})[name] = stored[key]
    return Exported(
        folder / "model.onnx",
        references,
        tuple(found["output_names"]),
        found["parameters"],
        found["framework"],
        limits.describe(),
    )
