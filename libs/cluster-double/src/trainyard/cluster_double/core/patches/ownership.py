"""Who owns which fields: the entries of `metadata.managedFields`, after a plain write and after an apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trainyard.cluster_double.core.objects import Json, meta, stamp, with_meta
from trainyard.cluster_double.core.patches.fieldsets import Fields, from_wire, leaves, to_wire
from trainyard.cluster_double.core.schema.shape import Shape


@dataclass(frozen=True, slots=True)
class Manager:
    name: str
    operation: str
    """Apply or Update."""
    api_version: str
    subresource: str
    fields: Fields
    time: str

    def same_as(self, other: Manager) -> bool:
        mine = (self.name, self.operation, self.subresource)
        versions = self.operation == "Apply" or self.api_version == other.api_version
        return mine == (other.name, other.operation, other.subresource) and versions


def managers_of(obj: Json) -> tuple[Manager, ...]:
    return tuple(
        Manager(
            name=entry.get("manager", ""),
            operation=entry.get("operation", "Update"),
            api_version=entry.get("apiVersion", ""),
            subresource=entry.get("subresource", ""),
            fields=frozenset(from_wire(entry.get("fieldsV1") or {})),
            time=entry.get("time", ""),
        )
        for entry in meta(obj).get("managedFields") or ()
    )


def with_managers(obj: Json, managers: Sequence[Manager]) -> Json:
    entries = [_entry(manager) for manager in managers if manager.fields]
    return with_meta(obj, managedFields=entries or None)


def _entry(manager: Manager) -> Json:
    entry: Json = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": manager.api_version,
        "time": manager.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": to_wire(manager.fields),
    }
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def after_update(old: Json | None, new: Json, shape: Shape, who: str, subresource: str, now: float) -> Json:
    """`new` with what changed owned by `who`, and by nobody else. Unlike an apply it takes fields from others silently."""
    before = leaves(old, shape) if old is not None else {}
    after = leaves(new, shape)
    changed = frozenset(path for path, value in after.items() if path not in before or before[path] != value)
    gone = frozenset(before.keys() - after.keys())
    mine = Manager(who, "Update", str(new["apiVersion"]), subresource, changed, stamp(now))
    given = meta(new).get("managedFields")
    # An empty list sent on purpose clears the record; what else clients send is not theirs to say.
    known = () if given == [{}] or old is None else managers_of(old)
    result = []
    for manager in known:
        if manager.same_as(mine):
            mine = replace(mine, fields=(manager.fields - gone) | changed, time=mine.time if changed else manager.time)
        else:
            result.append(replace(manager, fields=manager.fields - changed - gone))
    return with_managers(new, [*result, mine])
