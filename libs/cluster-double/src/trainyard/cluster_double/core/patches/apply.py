"""Server-side apply: merge what a manager wants, find whom it contradicts, drop what it no longer mentions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trainyard.cluster_double.core.objects import Json, stamp
from trainyard.cluster_double.core.patches.fieldsets import Fields, Path, element_of, leaves, printed
from trainyard.cluster_double.core.patches.ownership import Manager, managers_of, with_managers
from trainyard.cluster_double.core.schema.shape import Kind, Shape


@dataclass(frozen=True, slots=True)
class Clash:
    """A field that somebody else owns with another value."""

    manager: Manager
    path: Path


class Conflicts(ValueError):
    def __init__(self, clashes: list[Clash]) -> None:
        super().__init__(_sentence(clashes))
        self.clashes = clashes

    def causes(self) -> list[Json]:
        return [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_named(clash.manager)}",
                "field": printed(clash.path),
            }
            for clash in self.clashes
        ]


def apply(live: Json | None, wanted: Json, shape: Shape, who: str, *, force: bool, now: float, sub: str = "") -> Json:
    """The new object with its managers. Raises Conflicts unless `force`."""
    fields = leaves(wanted, shape)
    mine = Manager(who, "Apply", str(wanted["apiVersion"]), sub, frozenset(fields), stamp(now))
    if live is None:
        return with_managers(wanted, [mine])
    present = leaves(live, shape)
    managers = managers_of(live)
    others = [manager for manager in managers if not manager.same_as(mine)]
    taken = {path for path, value in fields.items() if path in present and present[path] != value}
    clashes = [
        Clash(manager, path)
        for manager in others
        for path in sorted(taken & manager.fields)
        if fields[path] is not None
    ]
    if clashes and not force:
        raise Conflicts(clashes)
    others = [replace(manager, fields=manager.fields - taken) for manager in others]
    result = _merge(live, wanted, shape)
    before = next((manager for manager in managers if manager.same_as(mine)), None)
    if before is not None:
        held = frozenset().union(*(manager.fields for manager in others))
        result = _dropped(result, before.fields - mine.fields, held | mine.fields, shape)
        if before.fields == mine.fields:
            mine = replace(mine, time=before.time)
    return with_managers(result, [*others, mine])


def _merge(live: Any, wanted: Any, shape: Shape) -> Any:
    if isinstance(wanted, dict) and isinstance(live, dict) and not shape.atomic:
        return {**live, **{name: _merge(live.get(name), value, shape.of(name)) for name, value in wanted.items()}}
    if isinstance(wanted, list) and isinstance(live, list) and shape.kind is Kind.LIST and not shape.atomic:
        return _merge_list(live, wanted, shape)
    return wanted


def _merge_list(live: list[Any], wanted: list[Any], shape: Shape) -> list[Any]:
    new = {element_of(entry, shape): entry for entry in wanted}
    old = {element_of(entry, shape): entry for entry in live}
    item = shape.item
    assert item is not None  # noqa: S101
    merged = {name: _merge(old[name], entry, item) if name in old else entry for name, entry in new.items()}
    kept = [merged.pop(name, entry) for name, entry in old.items()]
    return [*kept, *merged.values()]


def _dropped(value: Json, paths: Fields, kept: Fields, shape: Shape) -> Json:
    """Without what only this manager wanted and wants no more. An item of a list goes before its parts are looked for."""
    result, gone = value, set[Path]()
    for path in sorted(paths, key=len):
        inside = any(path[: len(whole)] == whole for whole in gone)
        if not inside and not any(other[: len(path)] == path for other in kept):
            result = _without(result, path, shape)
            gone.add(path)
    return result


def _without(value: Any, path: Path, shape: Shape) -> Any:
    """A copy of `value` without what lies at `path`, and without structs that become empty by it."""
    head, rest = path[0], path[1:]
    if isinstance(value, dict):
        name = head.removeprefix("f:")
        if name not in value:
            return value
        if not rest:
            return {key: member for key, member in value.items() if key != name}
        left = _without(value[name], rest, shape.of(name))
        if left in ({}, []) and value[name] != left:
            return {key: member for key, member in value.items() if key != name}
        return {**value, name: left}
    if isinstance(value, list) and shape.kind is Kind.LIST and not shape.atomic:
        item = shape.item
        assert item is not None  # noqa: S101
        kept = []
        for entry in value:
            if element_of(entry, shape) != head:
                kept.append(entry)
            elif rest:
                kept.append(_without(entry, rest, item))
        return kept
    return value


def _named(manager: Manager) -> str:
    sub = f' with subresource "{manager.subresource}"' if manager.subresource else ""
    using = f" using {manager.api_version}" if manager.operation == "Update" else ""
    return f'"{manager.name}"{sub}{using}'


def _sentence(clashes: list[Clash]) -> str:
    if len(clashes) == 1:
        clash = clashes[0]
        return f"Apply failed with 1 conflict: conflict with {_named(clash.manager)}: {printed(clash.path)}"
    lines: dict[str, list[str]] = {}
    for clash in clashes:
        lines.setdefault(_named(clash.manager), []).append(f"- {printed(clash.path)}")
    said = "\n".join(f"conflicts with {name}:\n" + "\n".join(paths) for name, paths in sorted(lines.items()))
    return f"Apply failed with {len(clashes)} conflicts: {said}"
