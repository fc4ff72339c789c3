"""Progress reports of ranks: JSON lines that trainyard.worker appends and the launcher reads as they come.

A report's number is that of its line, so whoever reads the file again after a restart counts the same, and the event
made of a report has the same id.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainyard.launcher.ports import Report

MAX_LINE = 64 * 1024
MAX_METRICS = 64
MAX_READ = 2**20  # bytes at once
MAX_READS = 64  # in one look; the rest comes with the next


@dataclass(slots=True)
class _Position:
    offset: int = 0
    lines: int = 0


class ReportReader:
    """Remembers how far each file was read; forgetting that costs a second reading, nothing else."""

    def __init__(self) -> None:
        self._positions: dict[Path, _Position] = {}

    def read(self, file: Path, rank: int, after: int) -> list[Report]:
        """The reports of a file behind number `after`. Lines that are not reports are counted and passed over."""
        position = self._positions.setdefault(file, _Position())
        if position.lines > after:
            position.offset, position.lines = 0, 0
        found: list[Report] = []
        try:
            with file.open("rb") as reports:
                reports.seek(position.offset)
                for _ in range(MAX_READS):
                    data = reports.read(MAX_READ)
                    found += self._take(position, data, rank, after)
                    if len(data) < MAX_READ:
                        break
                    reports.seek(position.offset)
        except FileNotFoundError:
            return found
        return found

    def _take(self, position: _Position, data: bytes, rank: int, after: int) -> list[Report]:
        if b"\n" not in data and len(data) == MAX_READ:  # no report of ours; what comes behind it may be one
            position.offset += len(data)
        found = []
        for line in data.split(b"\n")[:-1]:
            position.offset += len(line) + 1
            position.lines += 1
            if position.lines > after and (report := parse(line, position.lines, rank)) is not None:
                found.append(report)
        return found

    def forget(self, folder: Path) -> None:
        for file in [item for item in self._positions if item.is_relative_to(folder)]:
            del self._positions[file]


def parse(line: bytes, number: int, rank: int) -> Report | None:
    """User code wrote this: whatever does not fit is dropped, never raised."""
    try:
        document = json.loads(line) if len(line) <= MAX_LINE else None
    except ValueError:
        return None
    if not isinstance(document, dict):
        return None
    metrics = document.get("metrics")
    usable = {
        str(name)[:64]: _finite(value)
        for name, value in (metrics.items() if isinstance(metrics, dict) else ())
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    }
    return Report(
        number=number,
        rank=rank,
        time=_finite(document.get("time")) or 0.0,
        epoch=_whole(document.get("epoch")),
        epochs=_whole(document.get("epochs")),
        step=_whole(document.get("step")),
        steps=_whole(document.get("steps")),
        metrics=dict(list(usable.items())[:MAX_METRICS]),
    )


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else None
