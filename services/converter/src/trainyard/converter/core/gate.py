"""The numeric gate: whether a model's outputs are those of the reference, and how far off they are where they are not.

|a − b| ≤ atol + rtol·|reference|, in float64; shape, dtype, NaN and infinity positions must be equal; integers, booleans
and strings must be exact. Traps that are avoided: dividing by a zero reference, unsigned differences that wrap, booleans
that cannot be subtracted, and (n, 1) against (n,), which would broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainyard.common.contract.conversions import Tolerance

Array = npt.NDArray[np.generic]
ORDINARY = ("samples", "random", "pictures", "columns")
"""How the names of cases begin whose inputs are like the model's own; the others are edge cases."""


@dataclass(frozen=True, slots=True)
class Comparison:
    case: str
    output: str
    passed: bool
    fault: str = ""
    """Why not, in words."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    rtol: float = 0.0
    atol: float = 0.0
    max_abs: float = 0.0
    max_rel: float = 0.0
    """Over elements whose reference is not zero."""
    mean_abs: float = 0.0
    p99_abs: float = 0.0
    cosine: float | None = None
    argmax_agreement: float | None = None
    """Share of rows whose largest element is the same; None for outputs without rows."""
    worst: tuple[int, ...] = ()
    """Index of the largest difference."""


def usual_error(comparisons: Iterable[Comparison]) -> float | None:
    """The largest difference on inputs like the model's own, which is what a person asks for; edge cases are left out."""
    return max((item.max_abs for item in comparisons if item.case.startswith(ORDINARY)), default=None)


def tolerance_for(reference: Array) -> Tolerance:
    """For a whole network, by dtype. Source: the project's table of tolerances (torch.testing, tf2onnx, onnxscript)."""
    if reference.dtype.kind != "f" or reference.size == 0:
        return Tolerance(rtol=0.0, atol=0.0)
    match reference.dtype.itemsize:
        case 8:
            return Tolerance(rtol=1e-6, atol=1e-8)
        case 4:
            return Tolerance(rtol=1e-3, atol=1e-4 * max(1.0, _rms(reference)))
        case _:
            return half_tolerance(reference)


def half_tolerance(reference: Array) -> Tolerance:
    """For numbers that were computed in float16, whatever they are kept in."""
    return Tolerance(rtol=1e-2, atol=max(1e-3, 1e-3 * _rms(reference)))


def brain_tolerance(reference: Array) -> Tolerance:
    """For numbers of weights in bfloat16, which has 8 bits of precision."""
    return Tolerance(rtol=3e-2, atol=1e-2 * _rms(reference))


def _rms(reference: Array) -> float:
    finite = reference[np.isfinite(reference)].astype(np.float64)
    return float(np.sqrt(np.mean(finite**2))) if finite.size else 0.0


def compare(case: str, output: str, reference: Array, found: Array, tolerance: Tolerance | None = None) -> Comparison:
    """One output of one case against its reference."""
    shape, dtype = tuple(found.shape), str(found.dtype)
    if found.shape != reference.shape:
        return Comparison(case, output, False, f"shape {list(shape)} instead of {list(reference.shape)}", shape, dtype)
    if found.dtype != reference.dtype:
        return Comparison(case, output, False, f"dtype {dtype} instead of {reference.dtype}", shape, dtype)
    if reference.size == 0:
        return Comparison(case, output, True, shape=shape, dtype=dtype)
    if reference.dtype.kind not in "fc":
        return _exact(case, output, reference, found)
    if reference.dtype.kind == "c":  # a pair of reals for each element
        reference, found = (np.stack([item.real, item.imag], axis=-1) for item in (reference, found))
    used = tolerance or tolerance_for(reference)
    a, b = found.astype(np.float64), reference.astype(np.float64)
    fault = _special_values(a, b)
    # Infinities and NaNs were compared by their places; a difference of theirs would be a NaN.
    ordinary = np.isfinite(b) & np.isfinite(a)
    a, b = np.where(ordinary, a, 0.0), np.where(ordinary, b, 0.0)
    difference = np.abs(a - b)
    outside = difference > used.atol + used.rtol * np.abs(b)
    worst = tuple(int(index) for index in np.unravel_index(int(np.argmax(difference)), difference.shape))
    if not fault and outside.any():
        fault = (
            f"{int(outside.sum())} of {outside.size} elements differ by more than allowed, at most by "
            f"{difference.max():.3g} at {list(worst)} ({a[worst]:.6g} instead of {b[worst]:.6g})"
        )
    nonzero = b != 0
    relative = difference[nonzero] / np.abs(b[nonzero])
    return Comparison(
        case,
        output,
        not fault,
        fault,
        shape,
        dtype,
        used.rtol,
        used.atol,
        max_abs=float(difference.max()),
        max_rel=float(relative.max()) if relative.size else 0.0,
        mean_abs=float(difference.mean()),
        p99_abs=float(np.percentile(difference, 99)),
        cosine=_cosine(a[ordinary], b[ordinary]),
        argmax_agreement=_argmax_agreement(a, b),
        worst=worst,
    )


def _exact(case: str, output: str, reference: Array, found: Array) -> Comparison:
    different = reference != found
    fault = ""
    worst: tuple[int, ...] = ()
    if different.any():
        worst = tuple(int(index) for index in np.unravel_index(int(np.argmax(different)), different.shape))
        fault = (
            f"{int(different.sum())} of {different.size} elements differ, the first at {list(worst)} "
            f"({found[worst]} instead of {reference[worst]})"
        )
    return Comparison(case, output, not fault, fault, tuple(found.shape), str(found.dtype), worst=worst)


def _special_values(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> str:
    for name, test in (("NaN", np.isnan), ("+inf", np.isposinf), ("−inf", np.isneginf)):
        there, wanted = test(a), test(b)
        if not np.array_equal(there, wanted):
            return f"{name} at {int(there.sum())} places instead of {int(wanted.sum())}, or at others"
    return ""


def _cosine(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float | None:
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.dot(a.ravel(), b.ravel()) / norm) if norm > 0 else None


def _argmax_agreement(a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]) -> float | None:
    if a.ndim < 2 or a.shape[-1] < 2:
        return None
    return float(np.mean(np.argmax(a, axis=-1) == np.argmax(b, axis=-1)))
