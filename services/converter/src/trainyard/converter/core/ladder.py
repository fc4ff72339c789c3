"""What is tried to get a model into ONNX, in order, and which operator set it is written in. Pure.

The set comes from what the serving runtime takes, not from what the exporter likes best: a model that the server refuses
is worth nothing. Each rung is written into the report, whether it held or not.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class Rung:
    exporter: str
    """`dynamo` (torch.export based) or `torchscript`."""
    opset: int

    def describe(self) -> str:
        return f"{self.exporter} exporter, opset {self.opset}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an onnxruntime release takes."""

    opset: int
    ir_version: int


def limits(version: str) -> Limits:
    """Of the newest known release that is not newer than `version`."""
    text = resources.files("trainyard.converter.core").joinpath("runtimes.toml").read_text()
    rows = tomllib.loads(text)["onnxruntime"]
    wanted = _numbers(version)
    known = [row for row in rows if _numbers(row["version"]) <= wanted] or rows[:1]
    return Limits(known[-1]["opset"], known[-1]["ir"])


def rungs(wanted_opset: int | None, taken: Limits) -> list[Rung]:
    """Newest exporter first; then an older set, which has other decompositions; then the older exporter."""
    opset = min(wanted_opset or taken.opset, taken.opset)
    found = [Rung("dynamo", max(opset, 18))] if opset >= 18 else []
    if wanted_opset is None and opset > 18:
        found.append(Rung("dynamo", 18))
    found.append(Rung("torchscript", min(opset, 17)))
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
