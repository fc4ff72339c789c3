"""Progress reports: one JSON line each, appended to the file that the launcher reads. Nothing is sent, nothing waits."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any

_COUNTERS = ("epoch", "epochs", "step", "steps")


def report(
    *,
    epoch: int | None = None,
    epochs: int | None = None,
    step: int | None = None,
    steps: int | None = None,
    **metrics: Any,
) -> None:
    """Tell how far training is: `report(epoch=3, epochs=10, loss=0.2, accuracy=0.97, samples_per_second=900)`.

    Metrics are numbers or one-element tensors; what is not finite is told as missing. Outside a job this does nothing.
    Any rank may report; the lowest that does is shown.
    """
    path = os.environ.get("TRAINYARD_REPORT")
    if not path:
        return
    counters = dict(zip(_COUNTERS, (epoch, epochs, step, steps)))
    document = {
        "time": time.time(),
        **{name: int(value) for name, value in counters.items() if value is not None},
        "metrics": {name: _number(name, value) for name, value in metrics.items()},
    }
    line = json.dumps(document, allow_nan=False).encode() + b"\n"
    try:
        _append(path, line)
    except OSError as error:  # training is worth more than its progress bar
        print(f"trainyard: progress cannot be reported: {error}", flush=True)


def _append(path: str, line: bytes) -> None:
    """One write with O_APPEND: lines of several threads and processes never mix."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _number(name: str, value: Any) -> float | None:
    if hasattr(value, "item"):  # tensors and arrays of one element
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            raise TypeError(f"{name} must be one number, not {getattr(value, 'shape', 'several')}") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return float(value) if math.isfinite(value) else None
