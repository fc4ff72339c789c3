"""Requests that a model answers before clients may ask it, where its configuration has some (`model_warmup`).

A first request may take seconds: memory is taken and kernels are chosen. A model whose warm-up fails is not served; some
versions of Triton reported one as loaded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.serving.configuration import datatype
from trainyard.converter.serving.datatypes import DTYPES, from_raw
from trainyard.converter.serving.models import Model, Statistics


def warm(model: Model, folder: Path) -> None:
    """Raises InvalidInput that names the sample."""
    for name, count, inputs in _samples(model, folder):
        try:
            for _ in range(count):
                model.infer(inputs)
        except InvalidInput as error:
            raise InvalidInput.one(f"its warm-up {name!r} fails: {error}") from error
    model.statistics = Statistics()  # they count what clients ask


def _samples(model: Model, folder: Path) -> Iterator[tuple[str, int, Case]]:
    random = np.random.default_rng(0)
    for sample in model.configuration.message.model_warmup:
        batched = model.configuration.max_batch_size > 0
        inputs = {}
        for name, item in sorted(sample.inputs.items()):
            row = _tensor(sample.name, name, item, random, folder)
            inputs[name] = np.repeat(row[np.newaxis], max(1, sample.batch_size), axis=0) if batched else row
        yield sample.name, max(1, sample.count), inputs


def _tensor(sample: str, name: str, item: Any, random: np.random.Generator, folder: Path) -> Array:
    """Of one row, where the model is batched."""
    dtype, shape = DTYPES[datatype(item.data_type)], tuple(map(int, item.dims))
    if any(dim < 1 for dim in shape):
        raise InvalidInput.one(f"its warm-up {sample!r} has no usable dims for {name!r}: {list(shape)}")
    if item.WhichOneof("input_data_type") == "input_data_file":
        file = folder / "warmup" / item.input_data_file
        if "/" in item.input_data_file or not file.is_file():
            raise InvalidInput.one(f"its warm-up {sample!r} wants warmup/{item.input_data_file}, which is not there")
        return from_raw(name, dtype, shape, file.read_bytes())
    if dtype.kind == "O":
        return np.full(shape, "", object)
    if item.WhichOneof("input_data_type") == "random_data" and dtype.kind == "f":
        return random.random(math.prod(shape)).reshape(shape).astype(dtype)
    return np.zeros(shape, dtype)  # a random whole number may be an index outside of every table
