"""In which order a rank sees which rows. Pure.

Everything follows from (rows, seed, epoch, rank, world size, position): a job that is started again at a position, alone or
with other ranks, sees what it would have seen. Ranks get equally many rows, as collectives need: where they do not divide,
the last round is filled from the epoch's start, or left out (`drop_last`).

Shuffling is a keyed permutation that is computed row by row (a Feistel network that walks back into the range), so an epoch
of 10¹⁰ rows needs no list of them and may be entered anywhere. Black and Rogaway, "Ciphers with arbitrary finite domains",
CT-RSA 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]

_ROUNDS = 4
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))  # of splitmix64's finaliser


@dataclass(frozen=True, slots=True)
class Order:
    rows: int
    seed: int = 0
    shuffle: bool = False
    rank: int = 0
    world: int = 1
    drop_last: bool = False
    """Of an epoch: what does not fill a round of all ranks."""

    def __post_init__(self) -> None:
        if self.rows < 0 or self.world < 1 or not 0 <= self.rank < self.world:
            raise ValueError(f"rank {self.rank} of {self.world} over {self.rows} rows makes no sense")

    def __len__(self) -> int:
        """Rows that this rank sees in an epoch."""
        return self.rows // self.world if self.drop_last else -(-self.rows // self.world)

    def take(self, epoch: int, start: int, count: int) -> Rows:
        """The rows that this rank sees at positions `start` … `start + count` of its epoch, fewer at the end."""
        places = np.arange(start, min(start + count, len(self)), dtype=np.int64) * self.world + self.rank
        if self.rows:
            places %= self.rows
        return permuted(places, self.rows, self.seed, epoch) if self.shuffle else places


def permuted(places: Rows, rows: int, seed: int, epoch: int) -> Rows:
    """Where each place of 0 … rows − 1 lies after the shuffle: a permutation, by key."""
    if rows < 2:
        return places
    half = np.uint64(((rows - 1).bit_length() + 1) // 2)
    mask = np.uint64((1 << int(half)) - 1)
    keys = _keys(seed, epoch)
    found = _walk(places.astype(np.uint64), half, mask, keys)
    outside = found >= rows
    while outside.any():
        found[outside] = _walk(found[outside], half, mask, keys)
        outside = found >= rows
    return found.astype(np.int64)


def _walk(
    values: npt.NDArray[np.uint64], half: np.uint64, mask: np.uint64, keys: list[np.uint64]
) -> npt.NDArray[np.uint64]:
    left, right = values >> half, values & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right + key) & mask)
    return (left << half) | right


def _keys(seed: int, epoch: int) -> list[np.uint64]:
    words = np.random.SeedSequence([seed, epoch]).generate_state(_ROUNDS, np.uint64)
    return [np.uint64(word) for word in words]


def _mixed(values: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    values = (values ^ (values >> np.uint64(30))) * _MIX[0]
    values = (values ^ (values >> np.uint64(27))) * _MIX[1]
    return values ^ (values >> np.uint64(31))
