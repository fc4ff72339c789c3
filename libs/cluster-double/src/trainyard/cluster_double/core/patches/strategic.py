"""Strategic merge patch: a merge that knows which lists are keyed, with its directives (`$patch`, `$setElementOrder`, …)."""

from __future__ import annotations

from typing import Any

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.schema.shape import Kind, Shape

_ORDER = "$setElementOrder/"
_REMOVE = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_PATCH = "$patch"


class BadPatch(ValueError):
    """The words say which directive is wrong."""


def strategic_merge(target: Any, patch: Any, shape: Shape) -> Any:
    """`target` with `patch` merged into it as `shape` says. Raises BadPatch."""
    if not isinstance(patch, dict):
        return patch
    directive = patch.get(_PATCH)
    if directive == "replace":
        return _plain(patch)
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise BadPatch(f"Unknown patch type found: {directive} in {patch}")
    result = dict(target) if isinstance(target, dict) else {}
    if _RETAIN in patch:
        result = {name: value for name, value in result.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        _merge_field(result, name, value, shape)
    for name, order in patch.items():
        field = name.removeprefix(_ORDER)
        if field != name and isinstance(result.get(field), list):
            result[field] = _ordered(result[field], order, shape.of(field).merge_key)
    return result


def _merge_field(result: Json, name: str, value: Any, shape: Shape) -> None:
    if name in {_PATCH, _RETAIN} or name.startswith(_ORDER):
        return
    if name.startswith(_REMOVE):
        field = name.removeprefix(_REMOVE)
        result[field] = [entry for entry in result.get(field) or [] if entry not in value]
    elif value is None:
        result.pop(name, None)
    else:
        result[name] = _member(result.get(name), value, shape.of(name))


def _member(target: Any, value: Any, shape: Shape) -> Any:
    if isinstance(value, dict):
        return strategic_merge(target, value, shape)
    if isinstance(value, list) and shape.kind is Kind.LIST:
        if shape.merge_key:
            return _keyed(target or [], value, shape)
        if shape.is_set:
            return [*(target or []), *(entry for entry in value if entry not in (target or []))]
    return value


def _keyed(target: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    key, item = shape.merge_key, shape.item
    assert item is not None  # noqa: S101
    if any(isinstance(entry, dict) and entry.get(_PATCH) == "replace" for entry in patch):
        return [_plain(entry) for entry in patch if entry.get(_PATCH) != "replace"]
    result = list(target)
    for entry in patch:
        if not isinstance(entry, dict) or key not in entry:
            raise BadPatch(f"map: {entry} does not contain declared merge key: {key}")
        at = next((index for index, old in enumerate(result) if old.get(key) == entry[key]), None)
        if entry.get(_PATCH) == "delete":
            result = [old for old in result if old.get(key) != entry[key]]
        elif at is None:
            result.append(strategic_merge({}, entry, item))
        else:
            result[at] = strategic_merge(result[at], entry, item)
    return result


def _ordered(entries: list[Any], order: list[Any], key: str) -> list[Any]:
    """The entries named by `order` in its order; the others stay behind those that they followed."""

    def identity(entry: Any) -> Any:
        return entry.get(key) if isinstance(entry, dict) else entry

    wanted = [identity(entry) for entry in order]
    named = sorted((e for e in entries if identity(e) in wanted), key=lambda entry: wanted.index(identity(entry)))
    rest = [entry for entry in entries if identity(entry) not in wanted]
    return [*named, *rest]


def _plain(patch: Any) -> Any:
    return {name: value for name, value in patch.items() if not name.startswith("$")}
