"""Shapes of custom kinds, from the structural schema that their definition carries."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.schema import builtin
from trainyard.cluster_double.core.schema.shape import ANY, BOOLEAN, INTEGER, NUMBER, STRING, Kind, Shape

_SCALARS = {"string": STRING, "integer": INTEGER, "number": NUMBER, "boolean": BOOLEAN}


def shape_of(schema: Json, *, root: bool = False) -> Shape:
    """`root` adds what every object has: apiVersion, kind and metadata."""
    if schema.get("x-kubernetes-int-or-string"):
        return ANY
    kind = schema.get("type")
    if kind == "array":
        return _list(schema)
    if kind == "object" or "properties" in schema or root:
        return _object(schema, root=root)
    return _SCALARS.get(str(kind), ANY)


def _list(schema: Json) -> Shape:
    how = schema.get("x-kubernetes-list-type", "atomic")
    items = schema.get("items") or {}
    properties: Json = items.get("properties") or {}
    return Shape(
        Kind.LIST,
        item=shape_of(items),
        keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        is_set=how == "set",
        atomic=how == "atomic",
        item_defaults={name: found["default"] for name, found in properties.items() if "default" in found},
    )


def _object(schema: Json, *, root: bool) -> Shape:
    atomic = schema.get("x-kubernetes-map-type") == "atomic"
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    extra = schema.get("additionalProperties")
    item = shape_of(extra) if isinstance(extra, dict) else (ANY if extra is True else None)
    whole = root or bool(schema.get("x-kubernetes-embedded-resource"))
    if not schema.get("properties") and not whole:
        if item is not None:
            return Shape(Kind.MAP, item=item, atomic=atomic)
        if keeps:
            return Shape(Kind.STRUCT, atomic=atomic, open=True)
    return Shape(Kind.STRUCT, partial(_fields, schema, whole), item=item, atomic=atomic, open=keeps or item is not None)


def _fields(schema: Json, whole: bool) -> Mapping[str, Shape]:
    found = {name: shape_of(its) for name, its in (schema.get("properties") or {}).items()}
    if whole:
        found |= {"apiVersion": STRING, "kind": STRING, "metadata": builtin.metadata()}
    return found
