"""What is done to a picture before the model sees it, as data: who trained a model knew it, who serves it has to know it too.
Pure. Here it is what the graph is proven against: numpy and Pillow, in the order that the block promises.

Order: resize, crop, channels, scale, mean, std, layout. Mean and std are in the order of the model's channels, that is after
the swap: to subtract before it is the mistake that is made most often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from trainyard.common.contract.conversions import Preprocessing, TensorSpec
from trainyard.common.errors import InvalidInput, Problem
from trainyard.converter.core import cases
from trainyard.converter.core.cases import Case

Pictures = npt.NDArray[np.uint8]
"""[batch, height, width, 3], red first."""
KIND = "pictures"
_SIDES = ((40, 56), (64, 48), (33, 47))
"""Heights and widths of generated pictures, where they are resized: larger and smaller, none of them square."""


def check(blocks: Sequence[Preprocessing], inputs: Sequence[TensorSpec]) -> None:
    """Raises InvalidInput where a block does not fit the input that it names."""
    known = {item.name: item for item in inputs}
    problems = []
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


def prepared(
    blocks: Sequence[Preprocessing], inputs: Sequence[TensorSpec], batches: Sequence[int], others: Mapping[str, Case]
) -> tuple[dict[str, Case], dict[str, Case]]:
    """Case → what a client sends, and case → what the model takes. `others`: where inputs that are no pictures come from."""
    sent: dict[str, Case] = {}
    taken: dict[str, Case] = {}
    known = {block.input: block for block in blocks}
    for spec in inputs:
        made = pictures(known[spec.name], spec, batches) if spec.name in known else {}
        for batch in batches:
            case = cases.name(KIND, batch)
            plain = others[cases.name("random", batch)][spec.name]
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
