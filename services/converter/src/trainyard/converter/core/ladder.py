"""What is tried to get a model into ONNX, in order, and which operator set it is written in. Pure.

The set comes from what the serving runtime takes, not from what the exporter likes best: a model that the server refuses
is worth nothing. Each rung is written into the report, whether it held or not.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from trainyard.common.errors import InvalidInput

DYNAMO_FIRST = 18
"""The oldest set that the exporter on torch.export writes. Source: torch.onnx documentation."""
TORCHSCRIPT_LAST = 20
"""The newest set of the TorchScript exporter. Source: torch.onnx._constants."""


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
    """Newest exporter first; then an older set, which has other decompositions; then the older exporter. A set that was
    asked for is the only one that is tried. Raises InvalidInput when the runtime or both exporters do not have it."""
    if wanted_opset is not None:
        if wanted_opset > taken.opset:
            raise InvalidInput.one(
                f"the runtime takes opset {taken.opset} at most", "convert.opset", "leave it out to get the best one"
            )
        found = [Rung("dynamo", wanted_opset)] if wanted_opset >= DYNAMO_FIRST else []
        return found + ([Rung("torchscript", wanted_opset)] if wanted_opset <= TORCHSCRIPT_LAST else [])
    opsets = dict.fromkeys(opset for opset in (taken.opset, DYNAMO_FIRST) if DYNAMO_FIRST <= opset <= taken.opset)
    return [*(Rung("dynamo", opset) for opset in opsets), Rung("torchscript", min(taken.opset, 17))]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
