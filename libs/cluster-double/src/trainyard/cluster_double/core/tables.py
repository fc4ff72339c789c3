"""Lists as `kubectl get` prints them: columns and cells (meta.k8s.io/v1 Table), and the metadata alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from trainyard.cluster_double.core.objects import (
    Json,
    has_condition,
    is_deleting,
    meta,
    name_of,
    seconds_of,
    spec_of,
    status_of,
)
from trainyard.cluster_double.core.resources import Resource

Cell = Callable[[Json, float], Any]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    cell: Cell
    kind: str = "string"
    priority: int = 0
    description: str = ""


def _age(obj: Json, now: float) -> str:
    created = meta(obj).get("creationTimestamp")
    return span(now - seconds_of(created)) if created else "<unknown>"


def span(seconds: float) -> str:
    """`45s`, `3m20s`, `5h2m`, `7d`, as kubectl writes them."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"


def _ready(pod: Json, _: float) -> str:
    statuses = status_of(pod).get("containerStatuses") or []
    return f"{sum(bool(one.get('ready')) for one in statuses)}/{len(spec_of(pod).get('containers') or ())}"


def _pod_status(pod: Json, _: float) -> str:
    reason = str(status_of(pod).get("reason") or status_of(pod).get("phase") or "")
    for one in status_of(pod).get("containerStatuses") or ():
        state = one.get("state") or {}
        for part in ("waiting", "terminated"):
            if (state.get(part) or {}).get("reason"):
                reason = state[part]["reason"]
    return "Terminating" if is_deleting(pod) else reason


def _restarts(pod: Json, _: float) -> str:
    return str(sum(one.get("restartCount", 0) for one in status_of(pod).get("containerStatuses") or ()))


def _job_status(job: Json, _: float) -> str:
    for kind in ("Complete", "Failed", "Suspended"):
        if has_condition(job, kind):
            return kind
    return "Terminating" if is_deleting(job) else "Running"


def _completions(job: Json, _: float) -> str:
    wanted, parallel = spec_of(job).get("completions"), spec_of(job).get("parallelism", 1)
    done = status_of(job).get("succeeded", 0)
    return f"{done}/{wanted}" if wanted is not None else f"{done}/1 of {parallel}"


def _node_status(node: Json, _: float) -> str:
    ready = "Ready" if has_condition(node, "Ready") else "NotReady"
    return f"{ready},SchedulingDisabled" if spec_of(node).get("unschedulable") else ready


def _version(node: Json, _: float) -> str:
    return str((status_of(node).get("nodeInfo") or {}).get("kubeletVersion", ""))


NAME = Column("Name", lambda obj, _: name_of(obj))
AGE = Column("Age", _age)
COLUMNS: dict[str, Sequence[Column]] = {
    "/pods": (
        Column("Ready", _ready),
        Column("Status", _pod_status),
        Column("Restarts", _restarts),
        AGE,
        Column("IP", lambda pod, _: status_of(pod).get("podIP") or "<none>", priority=1),
        Column("Node", lambda pod, _: spec_of(pod).get("nodeName") or "<none>", priority=1),
    ),
    "batch/jobs": (
        Column("Status", _job_status),
        Column("Completions", _completions),
        AGE,
    ),
    "/nodes": (Column("Status", _node_status), AGE, Column("Version", _version)),
    "/namespaces": (Column("Status", lambda one, _: status_of(one).get("phase", "")), AGE),
    "/configmaps": (
        Column("Data", lambda one, _: len(one.get("data") or ()) + len(one.get("binaryData") or ()), "string"),
        AGE,
    ),
    "/services": (
        Column("Type", lambda one, _: spec_of(one).get("type")),
        Column("Cluster-IP", lambda one, _: spec_of(one).get("clusterIP") or "<none>"),
        AGE,
    ),
}


def table(
    resource: Resource,
    items: Sequence[Json],
    metadata: Json,
    now: float,
    custom: Sequence[Json],
    include: str = "Metadata",
) -> Json:
    """`custom`: the printer columns of a custom kind's definition."""
    columns = [NAME, *(_custom(custom) if custom else COLUMNS.get(resource.storage, (AGE,)))]
    definitions = [
        {
            "name": column.name,
            "type": column.kind,
            "format": "name" if column is NAME else "",
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]
    rows = [{"cells": [column.cell(obj, now) for column in columns], **_shown(obj, include)} for obj in items]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _shown(obj: Json, include: str) -> Json:
    if include == "None":
        return {}
    return {"object": obj if include == "Object" else partial(obj)}


def partial(obj: Json) -> Json:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta(obj)}


def _custom(columns: Sequence[Json]) -> list[Column]:
    def reader(column: Json) -> Cell:
        path, kind = column["jsonPath"], column.get("type")

        def read(obj: Json, now: float) -> Any:
            found = at_path(obj, path)
            return span(now - seconds_of(found)) if kind == "date" and isinstance(found, str) else found

        return read

    return [
        Column(
            column["name"],
            reader(column),
            str(column.get("type", "string")),
            int(column.get("priority", 0)),
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
        )
        for column in columns
    ]


def at_path(obj: Any, path: str) -> Any:
    """The plain part of JSONPath that printer columns use: `.spec.size`, `.status.conditions[0].type`, `[?(@.type=="x")]`."""
    for step in _steps(path):
        if isinstance(step, int):
            obj = obj[step] if isinstance(obj, list) and step < len(obj) else None
        elif isinstance(step, tuple):
            key, value = step
            obj = next((one for one in obj or () if isinstance(one, dict) and str(one.get(key)) == value), None)
        else:
            obj = obj.get(step) if isinstance(obj, dict) else None
    return obj


def _steps(path: str) -> list[str | int | tuple[str, str]]:
    steps: list[str | int | tuple[str, str]] = []
    rest = path
    while rest:
        if rest.startswith("[?(@."):
            inner, _, rest = rest[5:].partition(")]")
            key, _, value = inner.partition("==")
            steps.append((key.strip(), value.strip().strip("\"'")))
        elif rest.startswith("["):
            inner, _, rest = rest[1:].partition("]")
            steps.append(int(inner) if inner.lstrip("-").isdecimal() else inner.strip("\"'"))
        else:
            name = rest.removeprefix(".").split(".")[0].split("[")[0]
            steps.append(name)
            rest = rest.removeprefix(".")[len(name) :]
    return steps
