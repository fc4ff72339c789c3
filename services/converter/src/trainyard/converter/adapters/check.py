"""What was exported, checked and run under the runtime that will serve it, in the same sandbox as what exported it: folding a
constant may take terabytes, and a loop need not end."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from trainyard.converter.adapters import answers, sandbox, worker
from trainyard.converter.adapters.onnx_model import Signature
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.ladder import Limits

EXPORTED = "what was exported"


@dataclass(frozen=True, slots=True)
class Checked:
    signature: Signature
    found: Mapping[str, Mapping[str, Array]]
    """Case → output name → what the runtime computes."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    onnx: Path
    cases: Mapping[str, Case]
    batched: Collection[str]
    """Inputs whose first dimension has to be free."""
    runtime: Limits
    folder: Path
    """Scratch of its own."""


async def run(request: CheckRequest, limits: sandbox.Limits) -> Checked:
    """Raises ModelFault, ExportFault, or Retryable when the machine is at fault."""
    folder, cases = request.folder, request.cases
    document = {
        "worker": "exported_model",
        "onnx": str(request.onnx),
        "batched": sorted(request.batched),
        "runtime": asdict(request.runtime),
    }
    outcome = await worker.run(Path(sys.executable), folder, document, cases, limits)
    return await asyncio.to_thread(_checked, folder, outcome, cases)


def _checked(folder: Path, outcome: sandbox.Outcome, cases: Mapping[str, Case]) -> Checked:
    told = answers.told(folder, outcome, answers.Check, EXPORTED)
    inputs, outputs = (tuple(item.tensor() for item in items) for items in (told.inputs, told.outputs))
    signature = Signature(inputs, outputs, told.opset, told.ir_version, told.operators)
    names = [item.name for item in outputs]
    return Checked(signature, answers.arrays(folder / "found.npz", cases, names))
