"""What tests of the data plane share: a key, two owners, a table with tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from trainyard.data.errors import Refused
from trainyard.data.server import DataServer

KEY = b"k" * 32
OWNERS = {"Bearer mine": "me", "Bearer theirs": "them"}


def who(authorization: str | None) -> str:
    if authorization not in OWNERS:
        raise Refused("the token is not known here")
    return OWNERS[authorization]


def table(rows: int = 10_000, seed: int = 0) -> pa.Table:
    """A column of tensors, float32 [4, 2], and one of int64."""
    random = np.random.default_rng(seed)
    count = max(rows, 1)  # pyarrow makes no array of no tensors
    pixels = pa.FixedShapeTensorArray.from_numpy_ndarray(random.random((count, 4, 2), np.float32))
    return pa.table({"pixels": pixels, "label": pa.array(random.integers(0, 10, count))}).slice(0, rows)


Served = Callable[..., DataServer]
"""Starts a server over the test's store, with other settings as given."""
