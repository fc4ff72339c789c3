"""Writing another format from ONNX: a worker in the format's own environment, in the same sandbox as every other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from trainyard.converter.adapters import sandbox
from trainyard.converter.adapters.worker_exporter import arrays, command, lay_out, told
from trainyard.converter.ports import ModelFault, TargetRequest, Written

Environment = Callable[[str], Awaitable[Path]]
"""The interpreter of a folder of `deploy/converters`; builds it first where it is missing."""


class WorkerTargetWriter:
    """Implements ports.TargetWriter."""

    def __init__(self, environment: Environment, limits: sandbox.Limits | None = None) -> None:
        self._environment = environment
        self._limits = limits or sandbox.Limits()

    async def write(self, request: TargetRequest) -> Written:
        python = await self._environment(request.writer.environment)
        document = {
            "target": request.target,
            "worker": request.writer.worker,
            "onnx": str(request.onnx),
            "inputs": list(request.inputs),
            "outputs": [{"name": name} for name in request.outputs],
        }
        await asyncio.to_thread(lay_out, request.folder, document, request.cases, self._limits)
        outcome = await sandbox.run(command(python, request.folder), request.folder, self._limits)
        return await asyncio.to_thread(_written, request.folder, outcome)


def _written(folder: Path, outcome: sandbox.Outcome) -> Written:
    answer = told(folder, outcome)
    files = folder / "files"
    links = [file.name for file in files.rglob("*") if file.is_symlink()]
    if links:
        raise ModelFault(f"the writer left links in place of files: {', '.join(links)}")
    return Written(files, arrays(folder / "found.npz"), str(answer["framework"]))
