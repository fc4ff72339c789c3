"""What is done to a picture or a table before the model sees it, as data: who trained a model knew it, who serves it has to
know it too. Pure. Here it is what the graph is proven against: numpy and Pillow, in the order that the block promises.

Order: resize, crop, channels, scale, mean, std, layout. Mean and std are in the order of the model's channels, that is after
the swap: to subtract before it is the mistake that is made most often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from trainyard.common.contract.conversions import Columns, Preprocessing, TensorSpec
from trainyard.common.errors import InvalidInput, Problem
from trainyard.converter.core import cases
from trainyard.converter.core.cases import Case

Pictures = npt.NDArray[np.uint8]
"""[batch, height, width, 3], red first."""
KIND, COLUMNS = "pictures", "columns"
"""Of the cases: how their names begin."""
_SIDES = ((40, 56), (64, 48), (33, 47))
"""Heights and widths of generated pictures, where they are resized: larger and smaller, none of them square."""


def check(blocks: Sequence[Preprocessing], inputs: Sequence[TensorSpec], columns: Sequence[Columns] = ()) -> None:
    """Raises InvalidInput where a block does not fit the input that it names."""
    known = {item.name: item for item in inputs}
    problems = [problem for table in columns for problem in _table(table, known, blocks)]
    for block in blocks:
        spec, place = known.get(block.input), f"convert.preprocessing.{block.input}"
        if spec is None:
            problems.append(Problem(f"there is no input {block.input!r}", place, f"there are: {', '.join(known)}"))
            continue
        channels = spec.shape[1 if block.layout == "NCHW" else 3] if len(spec.shape) == 4 else None
        if spec.shape[:1] != ("batch",) or channels != 3 or not spec.dtype.startswith("float"):
            words = f"{spec.dtype} {list(spec.shape)} is no batch of pictures in {block.layout}"
            problems.append(Problem(words, place, "floats, the batch first, three channels"))
            continue
        given, wanted = _size(block), tuple(spec.shape[2:] if block.layout == "NCHW" else spec.shape[1:3])
        if given and any(have not in {-1, dim} for dim, have in zip(given, wanted, strict=True)):
            problems.append(Problem(f"pictures of {list(given)} for an input of {list(wanted)}", place))
        if not given and -1 in wanted and block.crop:
            problems.append(Problem("a crop of pictures of any size", place, "say what they are resized to"))
    if problems:
        raise InvalidInput(problems)


def _table(table: Columns, known: Mapping[str, TensorSpec], blocks: Sequence[Preprocessing]) -> Iterator[Problem]:
    spec, place = known.get(table.input), f"convert.columns.{table.input}"
    if spec is None:
        yield Problem(f"there is no input {table.input!r}", place, f"there are: {', '.join(known)}")
        return
    if table.input in {block.input for block in blocks}:
        yield Problem(f"{table.input!r} is a picture and a table at once", place)
    if not spec.shape or not spec.dtype.startswith("float"):
        yield Problem(f"{spec.dtype} {list(spec.shape)} is no table of floats", place)
    for word, numbers in (("mean", table.mean), ("std", table.std)):
        if len(numbers) > 1 and spec.shape and spec.shape[-1] not in {-1, len(numbers)}:
            yield Problem(f"{len(numbers)} numbers of {word} for an input of {list(spec.shape)}", place)


def pictures(block: Preprocessing, spec: TensorSpec, batches: Sequence[int]) -> dict[str, Pictures]:
    """Generated ones by the name of their case, one size for each batch: noise, and a plane of one colour."""
    random = np.random.default_rng(0)
    found: dict[str, Pictures] = {}
    for index, batch in enumerate(batches):
        height, width = _SIDES[index % len(_SIDES)] if block.resize else _fixed(block, spec)
        made = random.integers(0, 256, (batch, height, width, 3), dtype=np.uint8)
        made[0, :, : width // 2] = (200, 90, 20)
        found[cases.name(KIND, batch)] = made
    return found


def apply(block: Preprocessing, spec: TensorSpec, given: Pictures) -> cases.Array:
    """What the model takes."""
    found = np.stack([_resized(picture, block) for picture in given]) if block.resize else given
    if block.crop:
        top, left = ((have - wanted) // 2 for have, wanted in zip(found.shape[1:3], block.crop, strict=True))
        found = found[:, top : top + block.crop[0], left : left + block.crop[1]]
    values = found[..., ::-1] if block.channels == "BGR" else found
    mean, std = (np.array(numbers, dtype=np.float32) for numbers in (block.mean, block.std))
    scaled: npt.NDArray[np.float32] = values.astype(np.float32) * np.float32(block.scale)
    numbers: npt.NDArray[np.float32] = (scaled - mean) / std
    turned = numbers.transpose(0, 3, 1, 2) if block.layout == "NCHW" else numbers
    return np.ascontiguousarray(turned, cases.dtype_of(spec))


def standardised(table: Columns, given: cases.Array) -> cases.Array:
    """What the model takes, computed in its own precision, as the graph does it."""
    scale, mean, std = (np.array(numbers, given.dtype) for numbers in (table.scale, table.mean, table.std))
    found: cases.Array = (given * scale - mean) / std  # type: ignore[operator]
    return found


def measured(table: Columns, taken: cases.Array) -> cases.Array:
    """Numbers as a client would have them of which the model takes about `taken`."""
    exact = (taken.astype(np.float64) * np.array(table.std) + np.array(table.mean)) / table.scale
    found: cases.Array = exact.astype(taken.dtype)
    return found


def prepared(
    blocks: Sequence[Preprocessing],
    columns: Sequence[Columns],
    inputs: Sequence[TensorSpec],
    batches: Sequence[int],
    others: Mapping[str, Case],
) -> tuple[dict[str, Case], dict[str, Case]]:
    """Case → what a client sends, and case → what the model takes. `others`: where inputs that are no pictures come from."""
    kind, tables = KIND if blocks else COLUMNS, {table.input: table for table in columns}
    like = "samples" if cases.name("samples", batches[0]) in others else "random"
    sent: dict[str, Case] = {}
    taken: dict[str, Case] = {}
    known = {block.input: block for block in blocks}
    for spec in inputs:
        made = pictures(known[spec.name], spec, batches) if spec.name in known else {}
        for batch in batches:
            case = cases.name(kind, batch)
            plain = others[cases.name(like, batch)][spec.name]
            if table := tables.get(spec.name):
                sent.setdefault(case, {})[spec.name] = measured(table, plain)
                taken.setdefault(case, {})[spec.name] = standardised(table, sent[case][spec.name])
                continue
            sent.setdefault(case, {})[spec.name] = made.get(case, plain)
            taken.setdefault(case, {})[spec.name] = (
                apply(known[spec.name], spec, made[case]) if spec.name in known else plain
            )
    return sent, taken


def _resized(picture: Pictures, block: Preprocessing) -> Pictures:
    assert block.resize is not None  # noqa: S101
    height, width = block.resize
    return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))


def _size(block: Preprocessing) -> tuple[int, int] | None:
    """Of what comes out; None: as it came."""
    return block.crop or block.resize


def _fixed(block: Preprocessing, spec: TensorSpec) -> tuple[int, int]:
    """What pictures have to be like that are not resized: as the input is, or larger by what is cut off."""
    dims = spec.shape[2:] if block.layout == "NCHW" else spec.shape[1:3]
    height, width = (32 if dim == -1 else int(dim) for dim in dims)
    return (height + 8, width + 6) if block.crop else (height, width)
