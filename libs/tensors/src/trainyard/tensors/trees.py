"""Dicts, lists, tuples, named tuples and dataclasses of tensors: taken apart, and put together again. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rebuild = Callable[[Sequence[Any]], Any]


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """Its leaves from left to right, and what makes the same tree of as many others."""
    leaves: list[Any] = []
    shape = _taken_apart(tree, leaves)
    return leaves, lambda others: shape(iter(others))


def _taken_apart(tree: Any, leaves: list[Any]) -> Callable[[Any], Any]:
    """Adds to `leaves`; what it returns takes as many from an iterator."""
    if isinstance(tree, Mapping):
        items = {key: _taken_apart(value, leaves) for key, value in tree.items()}
        kind: Any = type(tree) if type(tree) is not dict else dict
        return lambda others: _like(kind, {key: make(others) for key, make in items.items()})
    if isinstance(tree, list | tuple):
        makes = [_taken_apart(value, leaves) for value in tree]
        if hasattr(tree, "_fields"):
            return lambda others: type(tree)(*(make(others) for make in makes))
        return lambda others: type(tree)(make(others) for make in makes)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        fields = {
            each.name: _taken_apart(getattr(tree, each.name), leaves) for each in dataclasses.fields(tree) if each.init
        }
        return lambda others: dataclasses.replace(tree, **{name: make(others) for name, make in fields.items()})
    leaves.append(tree)
    return next


def _like(kind: Any, items: dict[Any, Any]) -> Any:
    try:
        return kind(items)
    except TypeError:  # a mapping of another making, such as defaultdict
        return items
