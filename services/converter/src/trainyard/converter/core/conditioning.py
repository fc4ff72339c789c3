"""Edge cases where a model's answer hangs on rounding. Pure.

Far from what it was trained on a network may have nothing to hold on to: gates switch between numbers that stand next to each
other, a normalisation divides by next to nothing. Two runtimes that are both right then differ by more than any tolerance.
How much an answer hangs on rounding is measured on the framework itself, which computes every edge case once more with its
inputs moved by a few units in the last place. What was written may be off by a small multiple of what that has moved.

Inputs like the model's own (`random`, `samples`) are never excused.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trainyard.common.contract.conversions import Tolerance
from trainyard.converter.core import gate
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.gate import Comparison

EDGES = ("zeros", "ones", "large")
TWIN = ", nudged"
"""What the name of a case ends with whose inputs are those of an edge case, but for rounding."""
UNITS = 8
"""In the last place, of the input or of 1, whichever is larger."""
MULTIPLE = 10
"""A runtime rounds in every layer, the nudge moves the inputs alone."""
ROUNDING = "the model's own answer hangs on rounding"
"""How a report says so."""


def twins(built: Mapping[str, Case], seed: int = 1) -> dict[str, Case]:
    """Of the edge cases whose inputs can be moved at all. They are computed by the framework and compared with nothing."""
    random = np.random.default_rng(seed)
    return {
        case + TWIN: {name: _nudged(random, array) for name, array in inputs.items()}
        for case, inputs in built.items()
        if case.startswith(EDGES) and any(array.dtype.kind == "f" for array in inputs.values())
    }


def excused(
    failed: Comparison, references: Mapping[str, Mapping[str, Array]], found: Mapping[str, Array]
) -> Comparison | None:
    """The same comparison once more with what rounding may change; None where that excuses nothing. `references`: of all
    cases and their twins, by name."""
    twin = references.get(failed.case + TWIN)
    reference = references[failed.case][failed.output]
    if twin is None or reference.dtype.kind != "f" or twin[failed.output].shape != reference.shape:
        return None
    with np.errstate(invalid="ignore"):
        difference = np.abs(twin[failed.output].astype(np.float64) - reference.astype(np.float64))
    moved = float(difference[np.isfinite(difference)].max(initial=0.0))
    wider = Tolerance(rtol=failed.rtol, atol=failed.atol + MULTIPLE * moved)
    again = gate.compare(failed.case, failed.output, reference, found[failed.output], wider)
    return again if again.passed else None


def _nudged(random: np.random.Generator, array: Array) -> Array:
    if array.dtype.kind != "f":
        return array
    step = UNITS * float(np.finfo(array.dtype.name).eps)
    exact = array.astype(np.float64)
    moved: Array = (exact + step * random.choice([-1.0, 1.0], array.shape) * np.maximum(np.abs(exact), 1.0)).astype(
        array.dtype
    )
    return moved
