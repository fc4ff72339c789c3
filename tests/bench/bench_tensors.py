"""Conversions that share memory, in one run: `python tests/bench/bench_tensors.py` in an environment with the frameworks.

- of 1 GiB against 1 KiB: the cost must not depend on the size
- against the bare call of the frameworks (`torch.from_dlpack(x)` …), which checks and explains nothing
- against a copy of 256 MiB
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "libs" / "tensors" / "src"))

import numpy as np

from trainyard.tensors import convert_framework_tensor
from trainyard.tensors.bridges.numpy import empty

PACKAGES = {
    "paddle": "paddle", "tensorflow": "tensorflow", "torch": "torch", "jax": "jax", "arrow": "pyarrow",
}  # fmt: skip
LOADED = {name: import_module(package) for name, package in PACKAGES.items() if find_spec(package)}
BARE: dict[str, Callable[[Any], Any]] = {
    "torch": lambda x: LOADED["torch"].from_dlpack(x),  # noqa: PLW0108 - it need not be installed
    "jax": lambda x: LOADED["jax"].dlpack.from_dlpack(x),  # noqa: PLW0108
    "tensorflow": lambda x: LOADED["tensorflow"].experimental.dlpack.from_dlpack(x.__dlpack__()),
    "paddle": lambda x: LOADED["paddle"].utils.dlpack.from_dlpack(x.__dlpack__()),
}
ROUNDS, CALLS = 7, 200


def microseconds(call: Callable[[], object]) -> float:
    """Of one call, the median of rounds."""
    seen = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        seen.append((time.perf_counter() - began) / CALLS * 1e6)
    return median(seen)


def lines() -> Iterator[str]:
    small, large = (empty((size // 4,), np.dtype("float32")) for size in (2**10, 2**30))
    large[...] = 1
    for target in LOADED:
        yield _line(target, small, large, large[: 2**26])


def _line(target: Any, small: Any, large: Any, part: Any) -> str:
    ours = microseconds(lambda: convert_framework_tensor(small, target, copy=False))
    grown = microseconds(lambda: convert_framework_tensor(large, target, copy=False))
    told = f"numpy → {target:<11} {ours:6.1f} µs at 1 KiB, × {grown / ours:.2f} at 1 GiB"
    if target in BARE:
        told += f", × {ours / microseconds(lambda: BARE[target](small)):.1f} of the bare call"
    began = time.perf_counter()
    convert_framework_tensor(part, target, copy=True)
    return f"{told}; a copy of 256 MiB takes {(time.perf_counter() - began) * 1e6 / grown:,.0f} times as long"


if __name__ == "__main__":
    for line in lines():
        sys.stdout.write(line + "\n")
