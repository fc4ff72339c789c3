"""Sets of field paths, as `metadata.managedFields` holds them (FieldsV1).

A path is a tuple of elements: `f:name` for a field or a map's key, `k:{…}` for an item of a keyed list, `v:…` for an item of
a set. Leaves are what a manager owns; an item of a keyed list is owned too, so that it goes when nobody owns it any more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.schema.shape import Kind, Shape

Path = tuple[str, ...]
Fields = frozenset[Path]

_SYSTEM = frozenset(
    {
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    }
)


def leaves(obj: Json, shape: Shape) -> dict[Path, Any]:
    """Path → value of everything that a manager can own in `obj`."""
    owned = {name: value for name, value in obj.items() if name not in {"apiVersion", "kind"}}
    if "metadata" in owned:
        said = {name: value for name, value in owned.pop("metadata").items() if name not in _SYSTEM}
        owned |= {"metadata": said} if said else {}
    return dict(_walk(owned, shape, ()))


def _walk(value: Any, shape: Shape, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict) and not (shape.atomic and path):
        if not value and path:
            yield path, value
        for name, member in value.items():
            yield from _walk(member, shape.of(name), (*path, f"f:{name}"))
    elif isinstance(value, list) and not shape.atomic and shape.kind is Kind.LIST:
        for entry in value:
            element = element_of(entry, shape)
            yield (*path, element), entry if shape.is_set else None
            if not shape.is_set and shape.item is not None:
                yield from _walk(entry, shape.item, (*path, element))
    elif path:
        yield path, value


def element_of(entry: Any, shape: Shape) -> str:
    """How an item of a list is named in a path."""
    if shape.is_set:
        return f"v:{json.dumps(entry, separators=(',', ':'))}"
    key = {name: entry.get(name, shape.item_defaults.get(name)) for name in shape.keys}
    return f"k:{json.dumps(key, separators=(',', ':'), sort_keys=True)}"


def to_wire(fields: Iterable[Path]) -> Json:
    """FieldsV1: nested objects, with `.` for a path that is owned beside those below it."""
    root: Json = {}
    for path in sorted(fields):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return _compact(root)


def _compact(node: Json) -> Json:
    """`{".": {}}` alone is written `{}`."""
    children = {name: _compact(child) for name, child in node.items() if name != "."}
    return {".": {}, **children} if "." in node and children else children


def from_wire(node: Mapping[str, Any], path: Path = ()) -> Iterator[Path]:
    if path and (not node or "." in node):
        yield path
    for name, child in node.items():
        if name != ".":
            yield from from_wire(child, (*path, name))


def printed(path: Path) -> str:
    """`.spec.containers[name="x"].image`."""
    words = []
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "f":
            words.append(f".{rest}")
        elif kind == "v":
            words.append(f"[={rest}]")
        else:
            pairs = json.loads(rest)
            words.append(f"[{','.join(f'{key}={json.dumps(value)}' for key, value in sorted(pairs.items()))}]")
    return "".join(words)
