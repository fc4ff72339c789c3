"""The inputs that a model is proven on: given samples and generated ones, at every batch size, and edge cases.

Generated inputs stay in the range of the samples where there are some, since a network promises nothing outside of what it
was trained on; zeros, ones and large values are tried all the same and must agree as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.errors import InvalidInput

Array = npt.NDArray[np.generic]
Case = dict[str, Array]

FREE = 3
"""What a free dimension other than the batch is generated with."""
_LARGE = 1e3


def dtype_of(spec: TensorSpec) -> np.dtype[np.generic]:
    if spec.dtype == "bfloat16":
        raise InvalidInput.one("bfloat16 inputs cannot be generated yet", f"convert.inputs.{spec.name}.dtype")
    return np.dtype(spec.dtype)


def build(
    inputs: Sequence[TensorSpec], batch_sizes: Sequence[int], samples: Mapping[str, Array] | None, seed: int = 0
) -> dict[str, Case]:
    """Name → inputs by name. Raises InvalidInput when the samples do not fit the declared inputs."""
    random = np.random.default_rng(seed)
    cases: dict[str, Case] = {}
    usable = _checked(inputs, samples) if samples else None
    for batch in batch_sizes:
        cases[f"random, batch {batch}"] = {
            spec.name: _random(random, spec, batch, usable.get(spec.name) if usable else None) for spec in inputs
        }
        if usable:
            cases[f"samples, batch {batch}"] = {name: _take(array, batch) for name, array in usable.items()}
    batch = batch_sizes[len(batch_sizes) // 2]
    for name, value in (("zeros", 0.0), ("ones", 1.0), ("large", _LARGE)):
        cases[f"{name}, batch {batch}"] = {spec.name: _constant(spec, batch, value) for spec in inputs}
    return cases


def shape_of(spec: TensorSpec, batch: int) -> tuple[int, ...]:
    return tuple(batch if dim == "batch" else FREE if dim == -1 else dim for dim in spec.shape)


def _checked(inputs: Sequence[TensorSpec], samples: Mapping[str, Array]) -> Case:
    found: Case = {}
    for spec in inputs:
        array = samples.get(spec.name)
        if array is None:
            known = ", ".join(sorted(samples)) or "nothing"
            raise InvalidInput.one(f"the samples hold {known}, but not {spec.name!r}", "convert.samples")
        wanted, given = shape_of(spec, len(array) if array.ndim else 1), array.shape
        fits = len(wanted) == len(given) and all(
            dim == -1 or want == have for dim, want, have in zip(spec.shape, wanted, given, strict=True)
        )
        if not fits or len(array) == 0:
            raise InvalidInput.one(
                f"the samples of {spec.name!r} have shape {list(given)}, declared is {list(spec.shape)}",
                "convert.samples",
            )
        found[spec.name] = array.astype(dtype_of(spec))
    return found


def _take(array: Array, batch: int) -> Array:
    """`batch` rows from the beginning, over again where there are too few."""
    return np.resize(array, (batch, *array.shape[1:]))


def _random(random: np.random.Generator, spec: TensorSpec, batch: int, like: Array | None) -> Array:
    dtype, shape = dtype_of(spec), shape_of(spec, batch)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low, high = (int(like.min()), int(like.max()) + 1) if like is not None else (0, 2)
        return random.integers(low, max(high, low + 1), shape).astype(dtype)
    if like is not None:
        return random.uniform(float(like.min()), float(like.max()), shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _constant(spec: TensorSpec, batch: int, value: float) -> Array:
    dtype = dtype_of(spec)
    if dtype.kind != "f":  # an index of 1,000 may be outside of every table
        value = min(value, 1.0)
    return np.full(shape_of(spec, batch), value, dtype)
