"""Samples out of a dataset of the data server: `data://NAME`, or `data://NAME@VERSION`."""

from __future__ import annotations

import numpy as np

from trainyard.common.errors import InvalidInput, Retryable
from trainyard.converter.core.cases import Array
from trainyard.data.dataset import Dataset
from trainyard.data.errors import DataError, Unavailable

SCHEME = "data://"
MOST_ROWS = 1024
"""A few hundred prove as much as all, and ranges of int8 are taken from no more."""


def read(place: str, inputs: frozenset[str]) -> tuple[dict[str, Array], str]:
    """Arrays by column, of `MOST_ROWS` rows that are drawn the same every time, and words that say which. A column `label`
    that is no input becomes `labels`. Raises InvalidInput, or Retryable where the server does not answer."""
    name, _, version = place.removeprefix(SCHEME).partition("@")
    try:
        dataset = Dataset(name, version=version or None)
        try:
            found = next(iter(dataset.numpy(MOST_ROWS, shuffle=True)), {})
        finally:
            dataset.close()
    except Unavailable as error:
        raise Retryable(f"{place} cannot be read: {error}", delay=15) from error
    except DataError as error:
        raise InvalidInput.one(f"{place} cannot be read: {error}", "convert.samples") from error
    samples = {column: np.ascontiguousarray(values) for column, values in found.items() if values.dtype != object}
    if "label" in samples and "label" not in inputs and "labels" not in samples:
        samples["labels"] = samples.pop("label")
    rows = len(next(iter(samples.values()), ()))
    if not rows:
        raise InvalidInput.one(f"{place} has no rows of numbers", "convert.samples")
    return samples, f"samples: {rows} of the {len(dataset)} rows of {name}, version {dataset.version}"
