"""What is known of a tensor before it crosses. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from trainyard.tensors.dtypes import SIZES

ALIGNMENT = 64
"""Bytes. XLA and Eigen compute on nothing less; torch, JAX, TensorFlow, Paddle and Arrow allocate so, numpy does not."""


class Facts(NamedTuple):
    framework: str
    dtype: str
    """A name of trainyard.tensors.dtypes."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    """In elements; None: row-major without gaps."""
    pointer: int
    """Where its first element lies; 0: not known."""
    device: str = "cpu"
    """As `cpu`, `cuda:0`, `npu:0`."""
    read_only: bool = False
    """Its memory must not be written: a map of a file, a frozen array."""
    immutable: bool = False
    """Its framework promises that it never changes."""
    packed: bool = False
    """Elements share bytes (Arrow's bool)."""
    pending: str = ""
    """What the framework has yet to do before the memory holds the values, such as a conjugation."""

    @property
    def bytes(self) -> int:
        size = SIZES[self.dtype]
        for dim in self.shape:
            size *= dim
        return size

    @property
    def compact(self) -> bool:
        """Row-major without gaps."""
        return _without_gaps(self._kept)

    @property
    def dense(self) -> bool:
        """Without gaps, whatever the order of its dimensions."""
        return _without_gaps(sorted(self._kept, key=lambda pair: -pair[1]))

    @property
    def _kept(self) -> list[tuple[int, int]]:
        """(dim, stride) of the dimensions that matter."""
        if self.strides is None or 0 in self.shape:
            return []
        return [pair for pair in zip(self.shape, self.strides, strict=True) if pair[0] != 1]

    @property
    def backwards(self) -> bool:
        return self.strides is not None and any(
            stride < 0 for dim, stride in zip(self.shape, self.strides, strict=True) if dim > 1
        )

    @property
    def aligned(self) -> bool:
        return self.pointer % ALIGNMENT == 0


def _without_gaps(dims: list[tuple[int, int]]) -> bool:
    """(dim, stride), the outermost first."""
    return all(outer[1] == inner[0] * inner[1] for outer, inner in pairwise(dims)) and (not dims or dims[-1][1] == 1)
