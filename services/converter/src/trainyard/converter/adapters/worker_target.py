"""Writing another format from ONNX: a worker in the format's own environment, in the same sandbox as every other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from trainyard.converter.adapters import answers, sandbox, worker
from trainyard.converter.core.profiles import profile
from trainyard.converter.ports import TargetRequest, Written

Environment = Callable[[str], Awaitable[Path]]
"""The interpreter of a folder of `deploy/converters`; builds it first where it is missing."""


class WorkerTargetWriter:
    """Implements ports.TargetWriter."""

    def __init__(
        self, environment: Environment, limits: sandbox.Limits | None = None, trtexec: str | None = None
    ) -> None:
        """`trtexec`: the program, where it is not on PATH."""
        self._environment = environment
        self._limits = limits or sandbox.Limits()
        self._trtexec = trtexec

    async def write(self, request: TargetRequest) -> Written:
        python = await self._environment(request.writer.environment)
        outcome = await worker.run(
            python, request.folder, {**document(request), "trtexec": self._trtexec}, request.cases, self._limits
        )
        return await asyncio.to_thread(_written, request, outcome)


def document(request: TargetRequest) -> dict[str, Any]:
    """What the worker reads."""
    return {
        "target": request.target,
        "worker": request.writer.worker,
        "onnx": str(request.onnx),
        "inputs": list(request.inputs),
        "outputs": [{"name": name} for name in request.outputs],
        "profile": profile(request.inputs, request.cases),
    }


def _written(request: TargetRequest, outcome: sandbox.Outcome) -> Written:
    answer = answers.told(request.folder, outcome, answers.Write, "the writer")
    files = request.folder / "files"
    for file in files.rglob("*"):
        if not file.is_dir() or file.is_symlink():
            answers.own(file)
    found = answers.arrays(request.folder / "found.npz", request.cases, list(request.outputs))
    return Written(files, found, answer.framework, answers.line(answer.note))
