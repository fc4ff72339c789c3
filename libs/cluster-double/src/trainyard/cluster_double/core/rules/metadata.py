"""What holds of every object's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainyard.cluster_double.core.errors import Cause, forbidden_value, invalid_value
from trainyard.cluster_double.core.objects import Json, is_deleting, meta
from trainyard.cluster_double.core.rules import names

NameFault = Callable[[str], str | None]
STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


def faults(obj: Json, name_fault: NameFault) -> Iterator[Cause]:
    """Of an object that is to be stored."""
    metadata = meta(obj)
    fault = name_fault(metadata.get("name", ""))
    if fault:
        yield invalid_value("metadata.name", metadata.get("name", ""), fault)
    for key, value in (metadata.get("labels") or {}).items():
        if fault := names.qualified_fault(key):
            yield invalid_value("metadata.labels", key, fault)
        if fault := names.label_value_fault(value):
            yield invalid_value("metadata.labels", value, fault)
    for key in metadata.get("annotations") or {}:
        if fault := names.qualified_fault(key.lower()):
            yield invalid_value("metadata.annotations", key, fault)
    yield from _owner_faults(metadata.get("ownerReferences") or ())
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        at = f"metadata.finalizers[{index}]"
        if fault := names.qualified_fault(finalizer):
            yield invalid_value(at, finalizer, fault)
        elif "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            yield invalid_value(at, finalizer, "name is neither a standard finalizer name nor is it fully qualified")


def _owner_faults(owners: list[Json] | tuple[()]) -> Iterator[Cause]:
    at = "metadata.ownerReferences"
    for owner in owners:
        if not owner.get("apiVersion"):
            yield invalid_value(f"{at}.apiVersion", "", "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                yield invalid_value(f"{at}.{field}", "", "must not be empty")
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        both = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        yield invalid_value(
            at, "", f'Only one reference can have Controller set to true. Found "true" in references for {both}'
        )


def update_faults(old: Json, new: Json) -> Iterator[Cause]:
    """Of a change. The caller has already carried over what a client may not set."""
    if is_deleting(old):
        before = meta(old).get("finalizers") or []
        added = [finalizer for finalizer in meta(new).get("finalizers") or [] if finalizer not in before]
        if added:
            shown = ", ".join(f'"{finalizer}"' for finalizer in added)
            yield forbidden_value(
                "metadata.finalizers",
                f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}",
            )
