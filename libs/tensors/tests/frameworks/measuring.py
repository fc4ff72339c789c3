"""Measures which conversions share memory: every source, target, element type and layout, in one process that has all
frameworks. Writes JSON lines, one a source, target and layout, of which tools/generate_tensors.py makes the page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from trainyard.tensors import TensorError, convert_framework_tensor
from trainyard.tensors.bridges.numpy import dtype_of, empty
from trainyard.tensors.dtypes import SIZES
from trainyard.tensors.registry import BRIDGES, named

PACKAGES = {
    "mindspore": "mindspore", "paddle": "paddle", "tensorflow": "tensorflow", "torch": "torch", "jax": "jax",
    "mxnet": "mxnet", "numpy": "numpy", "arrow": "pyarrow",
}  # fmt: skip
"""Framework → package, in an order of importing that does not crash."""
LOADED = {name: import_module(package) for name, package in PACKAGES.items() if find_spec(package)}
NAMES = [name for name in BRIDGES if name in LOADED]
if "jax" in LOADED:
    LOADED["jax"].config.update("jax_enable_x64", True)


def base(dtype: str, shape: tuple[int, ...] = (6, 8)) -> Any:
    """Small whole numbers, at a multiple of 64 bytes."""
    found = empty(shape, dtype_of(dtype))
    found[...] = (np.arange(found.size).reshape(shape) % (2 if dtype == "bool" else 8)).astype(found.dtype)
    return found


def _misaligned(dtype: str) -> Any:
    room = empty((6 * 8 + 1,), dtype_of(dtype))
    found = room[1:].reshape(6, 8)
    found[...] = base(dtype)
    return found


def _read_only(dtype: str) -> Any:
    found = base(dtype)
    found.flags.writeable = False
    return found


LAYOUTS: dict[str, dict[str, Callable[[str], Any]]] = {
    "rows": {name: lambda dtype, name=name: convert_framework_tensor(base(dtype), name) for name in NAMES},  # type: ignore[misc]
    "one value": {
        name: lambda dtype, name=name: convert_framework_tensor(base(dtype, ()), name)  # type: ignore[misc]
        for name in NAMES if name != "arrow"
    },
    "empty": {name: lambda dtype, name=name: convert_framework_tensor(base(dtype, (0, 3)), name) for name in NAMES},  # type: ignore[misc]
    "transposed": {
        "numpy": lambda dtype: base(dtype).T,
        "torch": lambda dtype: convert_framework_tensor(base(dtype), "torch").t(),
        "paddle": lambda dtype: convert_framework_tensor(base(dtype), "paddle").t(),
    },
    "every second row": {
        "numpy": lambda dtype: base(dtype)[::2],
        "torch": lambda dtype: convert_framework_tensor(base(dtype), "torch")[::2],
    },
    "backwards": {"numpy": lambda dtype: base(dtype)[::-1]},
    "broadcast": {"torch": lambda dtype: convert_framework_tensor(base(dtype, (8,)), "torch").expand(6, 8)},
    "not at 64 bytes": {
        "numpy": _misaligned,
        "torch": lambda dtype: convert_framework_tensor(_misaligned(dtype), "torch", copy=False),
    },
    "read-only": {"numpy": _read_only},
}  # fmt: skip


def one(x: Any, target: str) -> str:
    """`shared`, or why not. Values are compared, and shared memory is shown by its address."""
    try:
        y, told = convert_framework_tensor(x, target, explain=True)
    except TensorError as error:
        return f"refused: {error}"
    source = named(told.source)
    if told.zero_copy and source.facts(x).bytes:
        assert source.pointer(x) == named(target).pointer(y), (told, "pointers differ")
    sent, came = (convert_framework_tensor(each, "numpy", copy=True) for each in (x, y))
    assert sent.dtype == came.dtype, (told, sent.dtype, came.dtype)
    assert np.array_equal(sent.astype(np.complex128), came.astype(np.complex128)), (told, "values differ")
    return "shared" if told.zero_copy else f"copied: {'; '.join(told.reasons)}"


def measured() -> Iterator[dict[str, Any]]:
    for layout, sources in LAYOUTS.items():
        for source, make in ((name, make) for name, make in sources.items() if name in LOADED):
            for target in NAMES:
                if target == source:
                    continue
                outcomes: dict[str, list[str]] = {}
                for dtype in SIZES:
                    try:
                        x = make(dtype)
                    except TensorError:
                        continue  # this framework has no such tensors
                    outcomes.setdefault(one(x, target).replace(dtype, "this type"), []).append(dtype)
                yield {"layout": layout, "source": source, "target": target, "outcomes": outcomes}


def versions() -> dict[str, str]:
    return {name: LOADED[name].__version__.partition("+")[0] for name in NAMES}


if __name__ == "__main__":
    for line in ({"versions": versions()}, *measured()):
        sys.stdout.write(json.dumps(line) + "\n")
