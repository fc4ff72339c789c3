"""What is done to an output before a client sees it, as data. Pure. Here it is what the graph is proven against: numpy, in
the order that the block promises.

Order: scale, shift, softmax or sigmoid, the largest. A place among the largest is no number that may be a little off: where
two scores are next to equal, rounding decides which comes first. So places are compared by what the framework itself scores
there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from trainyard.common.contract.conversions import Postprocessing
from trainyard.common.errors import InvalidInput, Problem
from trainyard.converter.core.cases import Array
from trainyard.converter.core.triton import Tensor

RAW, SCORES, INDICES = "raw", "scores", "indices"
"""What the outputs are called that a block adds, behind the name of its own."""
Floats = npt.NDArray[np.floating]


def called(block: Postprocessing, what: str) -> str:
    return f"{block.output}_{what}"


def check(blocks: Sequence[Postprocessing], outputs: Sequence[Tensor], labels: Sequence[str]) -> None:
    """Raises InvalidInput where a block does not fit the output that it names, or where it takes away what labels name."""
    known = {item.name: item for item in outputs}
    problems: list[Problem] = []
    for block in blocks:
        tensor, place = known.get(block.output), f"convert.postprocessing.{block.output}"
        if tensor is None:
            problems.append(Problem(f"there is no output {block.output!r}", place, f"there are: {', '.join(known)}"))
            continue
        problems += [Problem(words, place) for words in _faults(block, tensor)]
        for name in (called(block, RAW), called(block, SCORES), called(block, INDICES)):
            if name in known:
                problems.append(Problem(f"the model has an output {name!r} already", place, "give it another name"))
    first = next((block for block in blocks if outputs and block.output == outputs[0].name), None)
    if labels and first is not None and first.top and not first.keep:
        words = f"labels name the classes of {first.output!r}, of which only the largest {first.top} would be left"
        problems.append(Problem(words, "convert.labels", "keep the output beside them (keep), or leave the labels out"))
    if problems:
        raise InvalidInput(problems)


def _faults(block: Postprocessing, tensor: Tensor) -> Iterator[str]:
    shape, rank = tensor.shape, len(tensor.shape)
    described = f"{tensor.dtype} {list(shape)}"
    if not tensor.dtype.startswith("float"):
        yield f"{described} are no floats"
        return
    if block.activation == "softmax" or block.top:
        if not 1 <= (block.axis + rank if block.axis < 0 else block.axis) < rank:
            yield f"{described} has no classes on axis {block.axis}"
            return
        classes = shape[block.axis]
        if block.top and classes != -1 and block.top > classes:
            yield f"the largest {block.top} of {classes} classes"
    for word, numbers in (("scale", block.scale), ("shift", block.shift)):
        if len(numbers) > 1 and (not rank or shape[-1] not in {-1, len(numbers)}):
            yield f"{len(numbers)} numbers of {word} for {described}"


def apply(blocks: Sequence[Postprocessing], outputs: Mapping[str, Array]) -> dict[str, Array]:
    """What a client sees, in the order of the model's outputs."""
    known = {block.output: block for block in blocks}
    found: dict[str, Array] = {}
    for name, array in outputs.items():
        block = known.get(name)
        if block is None:
            found[name] = array
            continue
        if block.keep:
            found[called(block, RAW)] = array
        whole = scored(block, array)
        if block.top:
            # Of equal ones the first comes first, as ONNX's TopK has it.
            places = np.take(np.argsort(-whole, block.axis, kind="stable"), np.arange(block.top), block.axis)
            found[called(block, SCORES)] = np.take_along_axis(whole, places, block.axis)
            found[called(block, INDICES)] = places.astype(np.int64)
        else:
            found[name] = whole
    return found


def scored(block: Postprocessing, array: Array) -> Floats:
    """All of the output, before the largest are taken."""
    values = array.astype(np.float64) * np.array(block.scale) + np.array(block.shift)
    if block.activation == "softmax":
        powers = np.exp(values - values.max(block.axis, keepdims=True))
        values = powers / powers.sum(block.axis, keepdims=True)
    elif block.activation == "sigmoid":
        values = 0.5 * (1 + np.tanh(0.5 * values))
    scores: Floats = values.astype(array.dtype.name)
    return scores


def pairs(
    blocks: Sequence[Postprocessing], outputs: Mapping[str, Array], found: Mapping[str, Array]
) -> dict[str, tuple[Array, Array]]:
    """Name → what is right and what was found, to be compared as numbers. `outputs`: the framework's own, before anything is
    done to them."""
    compared = {name: (reference, found[name]) for name, reference in apply(blocks, outputs).items()}
    for block in blocks:
        if block.top:
            scores, places = compared[called(block, SCORES)][0], compared[called(block, INDICES)]
            name = called(block, INDICES)
            compared[name] = scores, _scores_at(block, scored(block, outputs[block.output]), *places)
    return compared


def _scores_at(block: Postprocessing, whole: Floats, wanted: Array, places: Array) -> Array:
    """What the framework scores at these places; NaN where they are none, or one is there twice."""
    if places.shape != wanted.shape or places.dtype != wanted.dtype:
        return places
    indices = places.astype(np.int64)
    inside = (indices >= 0) & (indices < whole.shape[block.axis])
    ordered = np.sort(indices, block.axis)
    once = (np.diff(ordered, axis=block.axis) != 0).all(block.axis, keepdims=True)
    found: Array = np.where(
        inside & once, np.take_along_axis(whole, np.where(inside, indices, 0), block.axis), np.nan
    ).astype(whole.dtype)
    return found
