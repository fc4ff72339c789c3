"""Triton's classification extension: `value:index:label` instead of numbers, best first, a row for each of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array
from trainyard.converter.serving.datatypes import is_whole


def classify(name: str, array: Array, top: Any, labels: Sequence[str], *, batched: bool) -> Array:
    """Strings of the shape [classes], behind the batch where there is one; at most `top` of them."""
    if not is_whole(top) or array.dtype.kind == "O" or array.ndim == 0:
        raise InvalidInput.one(f"output {name!r} cannot be classified into {top!r} classes")
    rows = array.reshape(array.shape[0], math.prod(array.shape[1:])) if batched else array.reshape(1, -1)
    order = np.argsort(-rows.astype(np.float64), axis=1, kind="stable")[:, : int(top)]
    found = np.empty(order.shape, object)
    for row, best in enumerate(order):
        for place, index in enumerate(best):
            label = f":{labels[index]}" if index < len(labels) else ""
            found[row, place] = f"{rows[row, index]:f}:{index}{label}"
    return found if batched else found[0]
