"""What is tried to get a model into ONNX, in order, and which operator set it is written in. Pure.

The set comes from what the serving runtime takes, not from what the exporter likes best: a model that the server refuses
is worth nothing. Each rung is written into the report, whether it held or not.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.formats import Exporter


@dataclass(frozen=True, slots=True)
class Rung:
    exporter: str
    """`Exporter.name`."""
    opset: int
    words: str = ""

    def describe(self) -> str:
        return f"{self.words or self.exporter}, opset {self.opset}"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an onnxruntime release takes."""

    opset: int
    ir_version: int


def _known() -> dict[str, Any]:
    return tomllib.loads(resources.files("trainyard.converter.core").joinpath("runtimes.toml").read_text())


def portable() -> Limits:
    """What is written where nobody asks for more: older servers take it too."""
    found = _known()["portable"]
    return Limits(found["opset"], found["ir"])


def limits(version: str) -> Limits:
    """Of the newest known release that is not newer than `version`."""
    rows = _known()["onnxruntime"]
    wanted = _numbers(version)
    known = [row for row in rows if _numbers(row["version"]) <= wanted] or rows[:1]
    return Limits(known[-1]["opset"], known[-1]["ir"])


def rungs(exporters: Sequence[Exporter], wanted_opset: int | None, taken: Limits) -> list[Rung]:
    """Exporter by exporter; a set that was asked for is the only one that is tried. Raises InvalidInput when the runtime or
    every exporter does not have it."""
    if wanted_opset is not None and wanted_opset > taken.opset:
        raise InvalidInput.one(
            f"the runtime takes opset {taken.opset} at most", "convert.opset", "leave it out to get the best one"
        )
    found = []
    for exporter in exporters:
        newest = min(exporter.last, taken.opset, portable().opset if wanted_opset is None else taken.opset)
        wanted = exporter.tries if wanted_opset is None else (wanted_opset,)
        within = [max(exporter.first, min(opset, newest)) for opset in wanted] if newest >= exporter.first else []
        if wanted_opset is not None and wanted_opset not in within:
            continue
        found += [Rung(exporter.name, opset, exporter.words) for opset in dict.fromkeys(within)]
    if not found:
        reach = " or ".join(
            f"{exporter.words}: {exporter.first} to {min(exporter.last, taken.opset)}" for exporter in exporters
        )
        raise InvalidInput.one(
            f"opset {wanted_opset or taken.opset} is written by no exporter of this format", "convert.opset", reach
        )
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
