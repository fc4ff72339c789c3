"""Sets of completion indexes as a job's status writes them: `0-3,7`."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cluster_double.core.objects import Json, annotations_of
from trainyard.cluster_double.core.rules.jobs import INDEX


def written(indexes: Iterable[int]) -> str:
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(low) if low == high else _run(low, high) for low, high in runs)


def _run(low: int, high: int) -> str:
    return f"{low},{high}" if high == low + 1 else f"{low}-{high}"


def read(text: str) -> set[int]:
    found: set[int] = set()
    for part in text.split(",") if text else ():
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return found


def index_of(pod: Json) -> int | None:
    text = annotations_of(pod).get(INDEX, "")
    return int(text) if text.isdecimal() else None
