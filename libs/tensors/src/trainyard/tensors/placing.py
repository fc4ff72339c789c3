"""Whether places of a sparse or ragged tensor are what frameworks take them for: within its shape, in order, none twice.

No framework looks when it is given places: PyTorch and Arrow write past the end of their memory for one that is outside, and
where one is there twice some add the values and some keep the last. JAX fills tensors up with places outside, SciPy keeps
places twice and in any order. So they are looked through, and put in order where that is possible. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from trainyard.tensors.composites import COO, RAGGED, Composite
from trainyard.tensors.errors import TensorError

Array = npt.NDArray[Any]
Parts = dict[str, Array]


def in_order(composite: Composite, parts: Mapping[str, Array]) -> Parts | None:
    """`parts` as NumPy's arrays. None: they are in order; else such as are. Raises TensorError where they contradict the
    shape or one another."""
    if composite.kind == RAGGED:
        _whole(parts["starts"], len(parts["values"]), exact=True)
        return None
    if composite.kind == COO:
        return _coo(parts, composite.shape, composite.padded)
    return _csr(parts, composite.shape)


def _coo(parts: Mapping[str, Array], shape: tuple[int, ...], padded: bool) -> Parts | None:
    places, values = parts["indices"], parts["values"]
    if places.ndim != 2 or places.shape != (len(values), len(shape) - values.ndim + 1):
        raise TensorError(f"its {list(places.shape)} places do not fit its {list(values.shape)} values")
    places = places.astype(np.int64, copy=False)
    outside = ((places < 0) | (places >= np.array(shape[: places.shape[1]], np.int64))).any(axis=1)
    if outside.any():
        if not padded:
            raise TensorError(f"{outside.sum()} of its places lie outside of its shape {list(shape)}")
        places, values = places[~outside], values[~outside]
    elif _rises(places):
        return None
    return dict(zip(("indices", "values"), _added(places, values), strict=True))


def _csr(parts: Mapping[str, Array], shape: tuple[int, ...]) -> Parts | None:
    starts, columns, values = parts["starts"], parts["columns"], parts["values"]
    if len(shape) != 2 or (starts.ndim, columns.ndim, values.ndim) != (1, 1, 1):
        raise TensorError(f"it is CSR of {len(shape)} dimensions, two can cross: make it COO, or dense")
    if len(starts) != shape[0] + 1 or len(columns) != len(values):
        raise TensorError(f"its {len(starts)} row starts and {len(columns)} columns do not fit its shape {list(shape)}")
    stored = _whole(starts, len(values), exact=False)
    columns, values = columns[:stored], values[:stored]  # what stands behind is room that is not used
    if ((columns < 0) | (columns >= shape[1])).any():
        raise TensorError(f"some of its columns lie outside of its shape {list(shape)}")
    rows = np.repeat(np.arange(shape[0], dtype=np.int64), np.diff(starts))
    places = np.stack([rows, columns.astype(np.int64, copy=False)], axis=1)
    if _rises(places):
        return None if stored == len(parts["values"]) else {"starts": starts, "columns": columns, "values": values}
    places, values = _added(places, values)
    counted = np.cumsum([0, *np.bincount(places[:, 0], minlength=shape[0])])
    return {
        "starts": counted.astype(starts.dtype), "columns": places[:, 1].astype(columns.dtype), "values": values,
    }  # fmt: skip


def _whole(starts: Array, values: int, *, exact: bool) -> int:
    """How many values the rows have."""
    last = int(starts[-1]) if len(starts) else -1
    if last < 0 or starts[0] != 0 or (starts[1:] < starts[:-1]).any() or last > values or (exact and last != values):
        raise TensorError(f"its row starts do not go from 0 to its {values} values")
    return last


def _rises(places: Array) -> bool:
    """Each one comes after the one before, row-major."""
    steps = np.diff(places, axis=0)
    if not steps.size:
        return len(places) < 2
    leading = np.take_along_axis(steps, (steps != 0).argmax(axis=1)[:, None], axis=1)
    return bool((leading > 0).all())


def _added(places: Array, values: Array) -> tuple[Array, Array]:
    """In order, with values of one place added up."""
    if not len(places):
        return places, values
    order = np.lexsort(places.T[::-1]) if places.shape[1] else np.arange(len(places))
    places, values = places[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], (places[1:] != places[:-1]).any(axis=1)]))
    add = np.logical_or if values.dtype == bool else np.add
    return places[first], np.asarray(add.reduceat(values, first, axis=0), values.dtype)
