"""The torch worker, from our side: request file in, sandboxed run, answer file out."""

from __future__ import annotations

import json
import signal
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

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
        folder = request.folder
        folder.mkdir(parents=True, exist_ok=True)
        python = await self._interpreter(request.image)
        np.savez(
            folder / "cases.npz",
            **{f"{case}/{name}": array for case, inputs in request.cases.items() for name, array in inputs.items()},  # type: ignore[arg-type]
        )
        (folder / "request.json").write_text(json.dumps(self._document(request)))
        command = [str(python), "-I", torch_worker.__file__, str(folder)]
        outcome = await sandbox.run(command, folder, self._limits)
        return self._answer(folder, outcome)

    def _document(self, request: ExportRequest) -> dict[str, object]:
        return {
            "workdir": str(request.workdir),
            "model": request.model,
            "weights": str(request.weights),
            "inputs": list(request.inputs),
            "output_names": list(request.output_names),
            "rung": asdict(request.rung),
            "limits": {"cpu_seconds": max(10, int(self._limits.seconds * 4)), "file_bytes": self._limits.file_bytes},
        }

    def _answer(self, folder: Path, outcome: sandbox.Outcome) -> Exported:
        if outcome.fault:
            raise ModelFault(f"the model was ended: {outcome.fault}")
        file = folder / "answer.json"
        if not file.exists():
            last = outcome.output.strip().splitlines()[-1:] or ["without a word"]
            if outcome.code == -signal.SIGXCPU:
                raise ModelFault("the model was ended: it used more processor time than it may")
            if outcome.code is not None and outcome.code < 0:
                raise ExportFault(f"the export ended by signal {-outcome.code} ({last[0][:300]})")
            raise Retryable(f"the export ended with code {outcome.code}: {last[0][:300]}", delay=5)
        answer = json.loads(file.read_text())
        if "fault" in answer:
            raise (ModelFault if answer["fault"] == "model" else ExportFault)(answer["message"])
        references: dict[str, dict[str, Array]] = {}
        with np.load(folder / "references.npz", allow_pickle=False) as stored:
            for key in stored.files:
                case, _, name = key.rpartition("/")
                references.setdefault(case, {})[name] = stored[key]
        return Exported(
            folder / "model.onnx",
            references,
            tuple(answer["output_names"]),
            answer["parameters"],
            answer["framework"],
            self._limits.describe(),
            tuple(answer["notes"]),
        )
