"""What a model says of itself, as what a request would have declared. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import ValidationError

from trainyard.common.contract.conversions import TensorSpec
from trainyard.common.errors import InvalidInput
from trainyard.converter.core.triton import Tensor


def declared(inputs: Sequence[Tensor]) -> tuple[TensorSpec, ...]:
    """A free first dimension of every input is the batch. Raises InvalidInput for what cannot be declared."""
    if not inputs:
        raise InvalidInput.one("the model does not say what goes in", "convert.inputs", "name, dtype and shape of each")
    batched = all(item.shape and item.shape[0] == -1 for item in inputs)
    return tuple(_spec(item, batched) for item in inputs)


def _spec(item: Tensor, batched: bool) -> TensorSpec:
    shape: tuple[int | Literal["batch"], ...] = ("batch", *item.shape[1:]) if batched else item.shape
    try:
        return TensorSpec.model_validate({"name": item.name, "dtype": item.dtype, "shape": shape})
    except ValidationError as error:
        words = (
            f"input {item.name!r} ({item.dtype}, {list(item.shape)}) cannot be converted: {error.errors()[0]['msg']}"
        )
        raise InvalidInput.one(words, "convert.inputs") from error
