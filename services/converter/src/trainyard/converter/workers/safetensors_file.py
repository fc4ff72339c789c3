"""Reads safetensors: eight bytes that say how long the header is, a header of JSON, then the numbers one after another.

Read here because images have torch or JAX, seldom the library. Source: the format as huggingface/safetensors describes it.
"""

import json
import math
import os

BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U8": 8, "BOOL": 8}


def read(path):
    """Name → (type as the file calls it, shape, bytes). Raises ValueError for what is no such file, OSError."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            raise ValueError("its header does not fit into the file")
        try:
            header = json.loads(file.read(length))
        except RecursionError:
            raise ValueError("its header is nested too deeply")
        numbers = bytearray(file.read())
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    header.pop("__metadata__", None)
    found = {name: tensor(name, entry, numbers) for name, entry in header.items()}
    covered(header, len(numbers))
    return found


def tensor(name, entry, numbers):
    try:
        dtype, shape, (begin, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
        bits = BITS[dtype]
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its header does not describe {name[:100]!r}: {type(error).__name__} {error}")
    if not isinstance(shape, list) or not all(
        isinstance(number, int) and number >= 0 for number in (*shape, begin, end)
    ):
        raise ValueError(f"{name[:100]!r} has a shape or a place that is no whole number")
    if end > len(numbers) or end - begin != math.prod(shape) * bits // 8:
        raise ValueError(f"{name[:100]!r} does not fit into its place, {begin} to {end} of {len(numbers)} bytes")
    return dtype, shape, memoryview(numbers)[begin:end]


def covered(header, size):
    """Every byte belongs to one tensor: others could hide what the header does not speak of."""
    at = 0
    for begin, end in sorted(entry["data_offsets"] for entry in header.values()):
        if begin != at:
            raise ValueError(f"at byte {min(begin, at)} two of its tensors overlap, or none lies there")
        at = end
    if at != size:
        raise ValueError(f"{size - at} bytes behind its last tensor belong to none")
