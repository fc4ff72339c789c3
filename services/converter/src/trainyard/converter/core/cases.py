"""The inputs that a model is proven on: given samples and generated ones, at several batch sizes, and edge cases.

Generated inputs stay in the range of the samples where there are some, since a network promises nothing outside of what it
was trained on; zeros, ones and large values are tried all the same and must agree as well. The batches of one kind begin
with the same rows: whether a row's answer depends on its neighbours can be read off the references (see `core.batching`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.contract.quantities import human_bytes
from trainyard.common.errors import InvalidInput

Array = npt.NDArray[np.generic]
Case = dict[str, Array]

FREE, OTHER_FREE = 3, 5
"""What a free dimension other than the batch is generated with: usually, and in the edge cases."""
FEWEST_SIZES = 3
"""Batch sizes that a free batch is proven at, at least: one size may be what the exporter has burnt in."""
MOST = 2**30
"""Bytes of all inputs of the largest batch: a model of a few bytes may ask for terabytes."""
_LARGE = 1e3


def name(kind: str, batch: int) -> str:
    return f"{kind}, batch {batch}"


def has_batch(spec: TensorSpec) -> bool:
    return bool(spec.shape) and spec.shape[0] == "batch"


def sizes(inputs: Sequence[TensorSpec], wanted: Sequence[int]) -> tuple[int, ...]:
    """The batch sizes to prove: those that are wanted, and small ones up to FEWEST_SIZES. Without a batch: (1,)."""
    if not any("batch" in spec.shape for spec in inputs):
        return (1,)
    found = list(dict.fromkeys(wanted))
    # From 2: with batch statistics a model may have no answer for a single row.
    found += [size for size in (2, 3, 5) if size not in found][: max(0, FEWEST_SIZES - len(found))]
    return tuple(found)


def build(
    inputs: Sequence[TensorSpec], batch_sizes: Sequence[int], samples: Mapping[str, Array] | None, seed: int = 0
) -> dict[str, Case]:
    """Name → inputs by name. Raises InvalidInput when the samples do not fit the declared inputs."""
    random = np.random.default_rng(seed)
    usable = _checked(inputs, samples) if samples else {}
    batches = sizes(inputs, batch_sizes)
    for free in (FREE, OTHER_FREE):
        _fit(inputs, max(batches), free)
    largest = {spec.name: _random(random, spec, max(batches), usable.get(spec.name)) for spec in inputs}
    cases: dict[str, Case] = {}
    for batch in batches:
        cases[name("random", batch)] = {spec.name: _rows(spec, largest[spec.name], batch) for spec in inputs}
        if usable:
            cases[name("samples", batch)] = {spec.name: _rows(spec, usable[spec.name], batch) for spec in inputs}
    batch = batches[len(batches) // 2]
    shapes = {spec.name: shape_of(spec, batch, OTHER_FREE) for spec in inputs}
    edges = {
        "zeros": {spec.name: np.zeros(shapes[spec.name], dtype_of(spec)) for spec in inputs},
        "ones": {spec.name: np.ones(shapes[spec.name], dtype_of(spec)) for spec in inputs},
        "large": {spec.name: _large(random, spec, shapes[spec.name]) for spec in inputs},
    }
    for kind, arrays in edges.items():
        cases[name(kind, batch)] = {key: _known(array, usable.get(key)) for key, array in arrays.items()}
    return cases


def dtype_of(spec: TensorSpec) -> np.dtype[np.generic]:
    if spec.dtype == "bfloat16":
        raise InvalidInput.one(
            "numpy has no bfloat16, so such inputs cannot be generated", f"convert.inputs.{spec.name}.dtype"
        )
    return np.dtype(spec.dtype)


def shape_of(spec: TensorSpec, batch: int, free: int = FREE) -> tuple[int, ...]:
    return tuple(batch if dim == "batch" else free if dim == -1 else dim for dim in spec.shape)


def _fit(inputs: Sequence[TensorSpec], batch: int, free: int) -> None:
    for spec in inputs:
        if 0 in spec.shape:
            words = f"{spec.name!r} has a dimension of 0: the model takes nothing, so there is nothing to compare"
            raise InvalidInput.one(words, "convert.inputs")
    needed = sum(math.prod(shape_of(spec, batch, free)) * dtype_of(spec).itemsize for spec in inputs)
    if needed > MOST:
        words = f"inputs of a batch of {batch} take {human_bytes(needed)}, the most is {human_bytes(MOST)}"
        raise InvalidInput.one(words, "convert.inputs", "smaller convert.batch_sizes may do")


def _checked(inputs: Sequence[TensorSpec], samples: Mapping[str, Array]) -> Case:
    found: Case = {}
    for spec in inputs:
        array = samples.get(spec.name)
        if array is None:
            known = ", ".join(sorted(samples)) or "nothing"
            raise InvalidInput.one(f"the samples hold {known}, but not {spec.name!r}", "convert.samples")
        fits = len(spec.shape) == array.ndim and all(
            dim in {"batch", -1, have} for dim, have in zip(spec.shape, array.shape, strict=True)
        )
        if not fits or array.size == 0:
            raise InvalidInput.one(
                f"the samples of {spec.name!r} have shape {list(array.shape)}, declared is {list(spec.shape)}",
                "convert.samples",
            )
        dtype = dtype_of(spec)
        # float64 pixels for a float32 input are what numpy hands out; fractions for an integer input are a mistake.
        if not np.can_cast(array.dtype, dtype, casting="same_kind"):
            raise InvalidInput.one(
                f"the samples of {spec.name!r} are {array.dtype}, declared is {spec.dtype}", "convert.samples"
            )
        found[spec.name] = array.astype(dtype)
    return found


def _rows(spec: TensorSpec, array: Array, batch: int) -> Array:
    """`batch` rows from the beginning, over again where there are too few; all of an input without a batch."""
    if "batch" not in spec.shape:
        return array
    axis = spec.shape.index("batch")
    taken: Array = np.take(array, np.arange(batch) % array.shape[axis], axis)
    return taken


def _random(random: np.random.Generator, spec: TensorSpec, batch: int, like: Array | None) -> Array:
    dtype, shape = dtype_of(spec), shape_of(spec, batch)
    if like is not None:  # its free dimensions are likely ones; those of several inputs belong together
        shape = tuple(batch if dim == "batch" else have for dim, have in zip(spec.shape, like.shape, strict=True))
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low, high = (int(like.min()), int(like.max()) + 1) if like is not None else (0, 2)
        return random.integers(low, max(high, low + 1), shape).astype(dtype)
    # A sample may hold NaN for what is missing, and infinities: the range is that of its numbers.
    numbers = like[np.isfinite(like)].astype(np.float64) if like is not None else np.empty(0)
    if not numbers.size:
        return random.standard_normal(shape).astype(dtype)
    share = random.random(shape)  # not a difference of the two ends, which may be larger than any number
    between: Array = (numbers.min() * (1 - share) + numbers.max() * share).astype(dtype)
    return between


def _large(random: np.random.Generator, spec: TensorSpec, shape: tuple[int, ...]) -> Array:
    """Not one large number: a normalisation divides the rounding errors of a constant by next to nothing."""
    dtype = dtype_of(spec)
    if dtype.kind != "f":  # an index of 1,000 may be outside of every table
        return random.integers(0, 2, shape).astype(dtype)
    return (_LARGE * random.standard_normal(shape)).astype(dtype)


def _known(array: Array, like: Array | None) -> Array:
    """Integers stay within the samples: they are indices, rates or lengths, and others may mean nothing."""
    if like is None or array.dtype.kind not in "iu":
        return array
    within: Array = np.clip(array, like.min(), like.max())
    return within
