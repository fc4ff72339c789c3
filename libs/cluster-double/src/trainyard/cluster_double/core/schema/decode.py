"""From a request's body to a clean object: unknown fields dropped (and named), types checked, amounts written canonically."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from trainyard.cluster_double.core.quantities import amount, written
from trainyard.cluster_double.core.schema.shape import Kind, Shape

_GO = {Kind.STRING: "string", Kind.INTEGER: "int32", Kind.NUMBER: "float64", Kind.BOOLEAN: "bool"}
_JSON = {str: "string", int: "number", float: "number", bool: "bool", dict: "object", list: "array"}


class WrongType(ValueError):
    """The words say what was found where, as Go's decoder does."""


@dataclass(slots=True)
class Decoder:
    """Walks one object. `unknown` holds the paths of the fields that were dropped."""

    typed: bool = True
    """Refuse values of a wrong type here; custom kinds leave that to their schema."""
    unknown: list[str] = field(default_factory=list)

    def clean(self, value: Any, shape: Shape, path: str = "") -> Any:
        """The object without unknown fields, nulls and empty collections. Raises WrongType."""
        walk = _WALKS.get(shape.kind)
        if walk is not None:
            return walk(self, value, shape, path)
        if self.typed and not _fits(value, shape.kind):
            raise _wrong(value, path, _GO[shape.kind])
        return value


def _struct(decoder: Decoder, value: Any, shape: Shape, path: str) -> Any:
    if not isinstance(value, dict):
        if decoder.typed:
            raise _wrong(value, path, "object")
        return value
    kept = {}
    for name, member in value.items():
        at = f"{path}.{name}" if path else name
        if name not in shape.fields and not shape.open:
            decoder.unknown.append(at)
        elif member is None and decoder.typed:
            continue
        else:
            cleaned = decoder.clean(member, shape.of(name), at)
            if decoder.typed and cleaned in ({}, []) and shape.of(name).kind in {Kind.MAP, Kind.LIST}:
                continue
            kept[name] = cleaned
    return kept


def _map(decoder: Decoder, value: Any, shape: Shape, path: str) -> Any:
    if not isinstance(value, dict):
        if decoder.typed:
            raise _wrong(value, path, "map")
        return value
    item = shape.item
    assert item is not None  # noqa: S101
    return {name: decoder.clean(member, item, f"{path}.{name}") for name, member in value.items()}


def _list(decoder: Decoder, value: Any, shape: Shape, path: str) -> Any:
    if not isinstance(value, list):
        if decoder.typed:
            raise _wrong(value, path, "array")
        return value
    item = shape.item
    assert item is not None  # noqa: S101
    return [decoder.clean(member, item, f"{path}[{index}]") for index, member in enumerate(value)]


def _quantity(_: Decoder, value: Any, __: Shape, path: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _wrong(value, path, "resource.Quantity")
    try:
        return written(amount(value), str(value))
    except ValueError as fault:
        raise WrongType(str(fault)) from None


def _any(_: Decoder, value: Any, __: Shape, ___: str) -> Any:
    return value


_WALKS: dict[Kind, Callable[[Decoder, Any, Shape, str], Any]] = {
    Kind.STRUCT: _struct,
    Kind.MAP: _map,
    Kind.LIST: _list,
    Kind.QUANTITY: _quantity,
    Kind.ANY: _any,
}


def _fits(value: Any, kind: Kind) -> bool:
    if kind is Kind.STRING:
        return isinstance(value, str)
    if kind is Kind.BOOLEAN:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return isinstance(value, int if kind is Kind.INTEGER else (int, float))


def _wrong(value: Any, path: str, wanted: str) -> WrongType:
    return WrongType(
        f"json: cannot unmarshal {_JSON.get(type(value), 'null')} into Go struct field {path} of type {wanted}"
    )
