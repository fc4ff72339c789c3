"""A Triton model repository: its configuration as a value, and the rules that Triton will hold it to. Pure.

Source: Triton's model configuration documentation and the checks in its core and onnxruntime backend. Everything is
written out (inputs, outputs, max_batch_size): what is left out Triton guesses, and its guess of a missing
max_batch_size is 4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainyard.common.errors import InvalidInput, Problem

Array = npt.NDArray[np.generic]
ONNX_PLATFORM = "onnxruntime_onnx"
ENSEMBLE_PLATFORM = "ensemble"
MODEL = "model.onnx"
"""What Triton looks for in the folder of a version: a file, or a folder with a file of this name and what belongs to it."""
TYPES = {
    "float64": "TYPE_FP64", "float32": "TYPE_FP32", "float16": "TYPE_FP16", "bfloat16": "TYPE_BF16",
    "int64": "TYPE_INT64", "int32": "TYPE_INT32", "int16": "TYPE_INT16", "int8": "TYPE_INT8", "uint8": "TYPE_UINT8",
    "bool": "TYPE_BOOL",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output of the ONNX model: full shape, −1 where a dimension is free."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelConfig:
    name: str
    max_batch_size: int
    inputs: tuple[Tensor, ...]
    """Shapes without the batch where max_batch_size is above 0. What nothing is left of, one number for each row, is [1] to
    clients: Triton takes no empty dims, and reshapes it for the model."""
    outputs: tuple[Tensor, ...]
    labels: tuple[str, ...] = ()


def configure(
    name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], *, max_batch: int, labels: Sequence[str] = ()
) -> ModelConfig:
    """`max_batch`: the largest batch that was proven; 0 or 1 where requests must not be merged. Batching also needs a free
    first dimension of every input and output."""
    tensors = (*inputs, *outputs)
    batched = max_batch > 1 and all(item.shape and item.shape[0] == -1 for item in tensors)
    return ModelConfig(
        name,
        max_batch if batched else 0,
        tuple(_without_batch(item) if batched else item for item in inputs),
        tuple(_without_batch(item) if batched else item for item in outputs),
        tuple(labels),
    )


def check(config: ModelConfig) -> None:
    """Raises InvalidInput with every rule that Triton would refuse the configuration for."""
    problems = []
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", config.name):
        problems.append(Problem(f"{config.name!r} is not a name of a model", "name"))
    if not config.inputs or not config.outputs:
        problems.append(Problem("a model has an input and an output at least", "input"))
    names = [item.name for item in (*config.inputs, *config.outputs)]
    problems += [Problem(f"{name!r} is there twice", "input") for name in {n for n in names if names.count(n) > 1}]
    for item in (*config.inputs, *config.outputs):
        if item.dtype not in TYPES:
            problems.append(Problem(f"Triton has no type for {item.dtype}", item.name))
        if not item.shape and not config.max_batch_size:
            problems.append(Problem("dims may not be empty", item.name, "reshape a scalar to [1]"))
        problems += [
            Problem(f"dimension {dim} is neither −1 nor above 0", item.name)
            for dim in item.shape
            if dim != -1 and dim < 1
        ]
    if config.max_batch_size < 0:
        problems.append(Problem("max_batch_size is 0 or more", "max_batch_size"))
    problems += _label_problems(config)
    if problems:
        raise InvalidInput(problems)


def _label_problems(config: ModelConfig) -> list[Problem]:
    """The labels are those of one output, one for each index of its last dimension."""
    if not config.labels or not config.outputs:
        return []
    if any("\n" in label or "\r" in label for label in config.labels):
        return [Problem("a label is one line", "convert.labels")]
    output = config.outputs[labelled(config)]
    classes = _classes(output)
    if classes not in {-1, len(config.labels)}:
        words = f"there are {len(config.labels)} labels, but {classes} classes in output {output.name!r}"
        return [Problem(words, "convert.labels")]
    return []


def labelled(config: ModelConfig) -> int:
    """Which output has the classes that the labels name: the first of as many, else the first of a free number."""
    found = [_classes(item) for item in config.outputs]
    return next((found.index(count) for count in (len(config.labels), -1) if count in found), 0)


def _classes(output: Tensor) -> int:
    return output.shape[-1] if output.shape else 1


def scalars(tensors: Sequence[Tensor]) -> bool:
    """Whether any has no dimension at all, which Triton has no form for."""
    return any(not item.shape for item in tensors)


def seen(array: Array, rank: int) -> Array:
    """As a client of Triton has it: with a last dimension of 1 where the model has none. `rank`: of what Triton has."""
    return array[..., np.newaxis] if array.ndim == rank - 1 else array


def plain(array: Array, rank: int) -> Array:
    """The other way round. `rank`: of what the model has."""
    return array[..., 0] if array.ndim == rank + 1 and array.shape[-1] == 1 else array


def rank(config: ModelConfig, item: Tensor) -> int:
    """Of this input or output, as a client has it."""
    return max(1, len(item.shape)) + (1 if config.max_batch_size else 0)


def _without_batch(item: Tensor) -> Tensor:
    return Tensor(item.name, item.dtype, item.shape[1:])
