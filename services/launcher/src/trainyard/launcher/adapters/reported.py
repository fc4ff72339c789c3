"""What a job reports of itself, read with care: user code wrote it, and nothing about it is believed."""

from __future__ import annotations

import json
import math
from typing import Any

from trainyard.launcher.ports import Report

MAX_LINE = 64 * 1024
MAX_METRICS = 64
MAX_WHOLE = 2**53  # what JSON readers of every language hold exactly


def parse(line: bytes, number: int, rank: int) -> Report | None:
    """A line of a rank's own file. Whatever does not fit is dropped, never raised."""
    document = _document(line)
    return _report(document, number, rank) if document is not None else None


def parse_numbered(line: bytes) -> Report | None:
    """A report that says itself whose it is and which one, as the runner inside of a pod sends it."""
    document = _document(line)
    number, rank = (_whole(document.get(name)) for name in ("number", "rank")) if document is not None else (None, None)
    if document is None or number is None or rank is None or number < 1 or rank < 0:
        return None
    return _report(document, number, rank)


def _document(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line) if len(line) <= MAX_LINE else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _report(document: dict[str, Any], number: int, rank: int) -> Report:
    metrics = document.get("metrics")
    usable = {
        _plain(name): _finite(value)
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


def _plain(name: str) -> str:
    """JSON can spell half a surrogate pair, which no message can carry."""
    return name[:64].encode(errors="replace").decode()


def _finite(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:  # an integer of hundreds of digits
        return None


def _whole(value: Any) -> int | None:
    number = _finite(value)
    return int(value) if number is not None and abs(number) <= MAX_WHOLE else None
