"""Shapes of built-in kinds, read off the official client's models, which are generated from the API's own description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, partial

from kubernetes.client import models

from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.core.schema import merging
from trainyard.cluster_double.core.schema.shape import (
    ANY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    QUANTITY,
    STRING,
    Kind,
    Shape,
)

_LIST = re.compile(r"^[Ll]ist\[(.+)\]$")
_MAP = re.compile(r"^[Dd]ict[\[(]str, (.+)[\])]$")
_SCALARS = {
    "str": STRING,
    "int": INTEGER,
    "float": NUMBER,
    "bool": BOOLEAN,
    "datetime": STRING,
    "bytearray": STRING,
    "bytes": STRING,  # base64 on the wire
    "object": ANY,
}
_MODELS = {("", "Event"): "CoreV1Event", ("", "Endpoints"): "V1Endpoints"}


@cache
def shape_of(resource: Resource) -> Shape:
    """The shape of a built-in kind."""
    capital = resource.version[0].upper() + resource.version[1:]
    return _model(_MODELS.get((resource.group, resource.kind), f"{capital}{resource.kind}"))


@cache
def metadata() -> Shape:
    return _model("V1ObjectMeta")


@cache
def _model(name: str) -> Shape:
    return Shape(Kind.STRUCT, partial(_fields, name), atomic=name in merging.ATOMIC_MODELS)


def _fields(name: str) -> Mapping[str, Shape]:
    model = getattr(models, name)
    return {wire: _field(name, wire, model.openapi_types[attribute]) for attribute, wire in model.attribute_map.items()}


def _field(model: str, wire: str, kind: str) -> Shape:
    listed = _LIST.match(kind)
    if listed:
        rule = merging.LISTS.get(model, {}).get(wire)
        is_set = wire in merging.SETS.get(model, frozenset())
        return Shape(
            Kind.LIST,
            item=_field(model, "", listed[1]),
            keys=rule.apply if rule else (),
            merge_key=rule.strategic if rule else "",
            is_set=is_set,
            atomic=not is_set and not (rule and rule.apply),
            item_defaults=rule.defaults if rule else {},
        )
    mapped = _MAP.match(kind)
    if mapped:
        item = QUANTITY if wire in merging.QUANTITY_MAPS and mapped[1] == "str" else _field(model, "", mapped[1])
        return Shape(Kind.MAP, item=item, atomic=wire in merging.ATOMIC.get(model, frozenset()))
    if kind in _SCALARS:
        return QUANTITY if kind == "str" and wire in merging.QUANTITIES else _SCALARS[kind]
    return _model(kind)
