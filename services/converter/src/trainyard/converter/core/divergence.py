"""Where two graphs of the same model part: from how far every tensor of both is off, the node that begins it. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

NOTABLE = 1e-2
"""Relative difference from which a tensor counts as another one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Of one tensor that both graphs have."""

    tensor: str
    operator: str
    """Of the node that gives it."""
    inputs: tuple[str, ...]
    """Of that node."""
    error: float
    """Norm of the difference by the norm of the reference; infinite where only one of them is a number."""
    largest: float = 0.0
    """The largest absolute value of the reference's."""
    size: int = 0
    """Elements."""


def growth(differences: Sequence[Difference]) -> list[tuple[float, Difference]]:
    """What each node adds to the difference that came in, in the order of the graph."""
    errors = {item.tensor: item.error for item in differences}
    found = []
    for item in differences:
        before = max((errors.get(name, 0.0) for name in item.inputs), default=0.0)
        found.append((0.0 if math.isinf(before) else item.error - before, item))
    return found


def first(differences: Sequence[Difference]) -> Difference | None:
    """The first node whose answer is another one though what went in was not."""
    return next((item for grown, item in growth(differences) if grown > NOTABLE), None)


def between(names: Sequence[str], seen: Sequence[bool | None]) -> tuple[str, str] | None:
    """The last layer that is found again in another graph, empty where none is, and the first one behind it that is not.
    None: every layer is, and what differs comes after them."""
    last = max((at for at, found in enumerate(seen) if found), default=-1)
    lost = next((name for name, found in zip(names[last + 1 :], seen[last + 1 :], strict=True) if found is False), None)
    return None if lost is None else (names[last] if last >= 0 else "", lost)


def worst(differences: Sequence[Difference], count: int, without: Collection[str]) -> tuple[str, ...]:
    """Tensors of the `count` nodes that add most, beside those that are known."""
    adding = [(grown, item) for grown, item in growth(differences) if grown > 0 and item.tensor not in without]
    return tuple(item.tensor for _, item in sorted(adding, key=lambda pair: -pair[0])[:count])
