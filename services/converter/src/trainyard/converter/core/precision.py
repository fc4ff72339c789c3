"""Lower precision: which there are, what inputs they answer for, and when their numbers are near enough. Pure.

A lower precision promises its numbers for inputs such as the model is asked in life; zeros, ones and large values are left
out, and a range was chosen for the rest. Source of the bounds: the project's table of tolerances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trainyard.common.contract.conversions import Precision, Tolerance
from trainyard.converter.core import gate
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.divergence import Difference
from trainyard.converter.core.gate import Comparison

COSINE = 0.99
"""Of an output in int8 with its reference, at least."""
AGREEMENT = 0.99
"""Share of the samples whose class stays the same, at least."""
NOTHING = 1e-2
"""What passes for zero."""
POINT = 0.01
"""What the share of right classes may fall by, where the samples are labelled."""
LARGEST_HALF = 65504.0
SUMS = ("Reduce", "GlobalAverage", "AveragePool", "LayerNorm", "InstanceNorm", "GroupNorm", "LpNorm")
"""Operators that add up what goes in, by how they begin."""
_ROWS = 32  # a step of the calibration


@dataclass(frozen=True, slots=True)
class Lower:
    worker: str
    """Module of `trainyard.converter.workers`."""
    calibrated: bool = False
    """The range of every tensor is taken from samples."""


LOWER: dict[Precision, Lower] = {
    "float16": Lower("rewrites.float16"),
    "bfloat16": Lower("rewrites.bfloat16"),
    "int8": Lower("rewrites.int8", calibrated=True),
    "int8-dynamic": Lower("rewrites.int8"),
}


def file_of(precision: Precision) -> str:
    return f"model.{precision}.onnx"


def ordinary(precision: Precision, cases: Mapping[str, Case]) -> dict[str, Case]:
    """Those that it answers for: where ranges were taken from samples, what is like them; else also what was generated."""
    kinds = ("samples",) if LOWER[precision].calibrated else gate.ORDINARY
    return {name: inputs for name, inputs in cases.items() if name.startswith(kinds)}


def too_large(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Tensors whose nodes would leave the range of float16, by what they were seen to hold. An average or a norm adds up
    first. A processor that widens float16 would not show it, an accelerator would."""
    known = {item.tensor: item for item in differences}
    found = []
    for item in differences:
        sums = [known[name].size / max(item.size, 1) * known[name].largest for name in item.inputs if name in known]
        summed = max(sums, default=0.0) if item.operator.startswith(SUMS) else 0.0
        if max(item.largest, summed) > LARGEST_HALF / 2:
            found.append(item.tensor)
    return tuple(found)


def calibration(samples: Case, batched: frozenset[str], proven: int) -> dict[str, Case]:
    """Rows to take ranges from: not the first `proven` ones, which the proof is made with, where there are others.
    `batched`: inputs whose first dimension is the batch."""
    if not batched:
        return {"samples": samples}
    count = min(len(samples[name]) for name in batched)
    first = proven if count > proven else 0
    return {
        f"rows {at}": {name: array[at : at + _ROWS] if name in batched else array for name, array in samples.items()}
        for at in range(first, count, _ROWS)
    }


def compare(precision: Precision, case: str, output: str, reference: Array, found: Array) -> Comparison:
    """One output of one ordinary case in this precision against the framework's own."""
    if reference.dtype.kind not in "fc":
        return _mostly(gate.compare(case, output, reference, found), reference, found)
    if precision == "float16":
        return gate.compare(case, output, reference, found, gate.half_tolerance(reference))
    if precision == "bfloat16":
        return gate.compare(case, output, reference, found, gate.brain_tolerance(reference))
    # Shape, dtype and what is no number have to be the same; the rest is judged as a whole.
    compared = gate.compare(case, output, reference, found, Tolerance(rtol=1.0, atol=1e300))
    faults = []
    if compared.cosine is None and compared.max_abs > NOTHING:  # one of the two is nothing but zeros
        faults.append(f"zeros instead of numbers, or the other way round, up to {compared.max_abs:.3g}")
    elif compared.cosine is not None and compared.cosine < COSINE:
        faults.append(f"cosine {compared.cosine:.4f} instead of {COSINE:g} at least")
    classes = reference.ndim == 2 and case.startswith("samples") and compared.argmax_agreement is not None
    if classes and (compared.argmax_agreement or 0.0) < AGREEMENT:
        faults.append(f"the same class in {compared.argmax_agreement:.1%} of the rows instead of {AGREEMENT:.0%}")
    if compared.passed and faults:
        compared = replace(compared, passed=False, fault=", ".join(faults))
    return replace(compared, rtol=0.0, atol=0.0)


def as_served(
    precision: Precision | None, case: str, output: str, reference: Array, found: Array, tolerance: Tolerance | None
) -> Comparison:
    """By the bounds of what is served: those of its precision, where it has another than the framework's."""
    if precision is not None:
        return compare(precision, case, output, reference, found)
    return gate.compare(case, output, reference, found, tolerance)


def _mostly(compared: Comparison, reference: Array, found: Array) -> Comparison:
    """Classes and indices: nearly all of them."""
    if compared.passed or found.shape != reference.shape or found.dtype != reference.dtype:
        return compared
    return replace(compared, passed=bool(np.mean(found == reference) >= AGREEMENT))


def accuracy(output: Array, labels: Array) -> float:
    """Share of the rows whose largest element is the label's."""
    return float(np.mean(np.argmax(output, axis=-1) == labels))
