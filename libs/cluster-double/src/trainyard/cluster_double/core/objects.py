"""API objects are JSON: nested dicts that nobody changes once they are stored. These are the questions asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

Json = dict[str, Any]


def meta(obj: Json) -> Json:
    found: Json = obj.get("metadata") or {}
    return found


def name_of(obj: Json) -> str:
    return str(meta(obj).get("name") or "")


def namespace_of(obj: Json) -> str:
    return str(meta(obj).get("namespace") or "")


def labels_of(obj: Json) -> dict[str, str]:
    found: dict[str, str] = meta(obj).get("labels") or {}
    return found


def annotations_of(obj: Json) -> dict[str, str]:
    found: dict[str, str] = meta(obj).get("annotations") or {}
    return found


def spec_of(obj: Json) -> Json:
    found: Json = obj.get("spec") or {}
    return found


def status_of(obj: Json) -> Json:
    found: Json = obj.get("status") or {}
    return found


def uid_of(obj: Json) -> str:
    return str(meta(obj).get("uid") or "")


def owners_of(obj: Json) -> list[Json]:
    found: list[Json] = meta(obj).get("ownerReferences") or []
    return found


def controller_of(obj: Json) -> Json | None:
    return next((owner for owner in owners_of(obj) if owner.get("controller")), None)


def finalizers_of(obj: Json) -> list[str]:
    found: list[str] = meta(obj).get("finalizers") or []
    return found


def is_deleting(obj: Json) -> bool:
    return bool(meta(obj).get("deletionTimestamp"))


def with_meta(obj: Json, **changes: Any) -> Json:
    """A copy with other metadata; None takes a field away."""
    merged = {**meta(obj), **changes}
    return {**obj, "metadata": {key: value for key, value in merged.items() if value is not None}}


def with_status(obj: Json, status: Json) -> Json:
    return {**obj, "status": status}


def condition(obj: Json, kind: str) -> Json | None:
    conditions: list[Json] = status_of(obj).get("conditions") or []
    return next((found for found in conditions if found.get("type") == kind), None)


def has_condition(obj: Json, kind: str) -> bool:
    found = condition(obj, kind)
    return found is not None and found.get("status") == "True"


def with_condition(conditions: list[Json], new: Json) -> list[Json]:
    """The list with `new` in the place of its type, keeping the transition time when its status stays."""
    kept = next((old for old in conditions if old["type"] == new["type"]), None)
    if kept is None:
        return [*conditions, new]
    if kept.get("status") == new.get("status") and "lastTransitionTime" in kept:
        new = {**new, "lastTransitionTime": kept["lastTransitionTime"]}
    return [new if old["type"] == new["type"] else old for old in conditions]


def containers_of(spec: Json) -> Iterator[tuple[str, Json]]:
    """(path, container) of every container of a pod's spec, init containers first."""
    for group in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(group) or []):
            yield f"{group}[{index}]", container


def stamp(seconds: float) -> str:
    """Unix seconds as metav1.Time prints them."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_of(text: str) -> float:
    """Unix seconds of an RFC 3339 time. Raises ValueError."""
    return datetime.fromisoformat(text).timestamp()
