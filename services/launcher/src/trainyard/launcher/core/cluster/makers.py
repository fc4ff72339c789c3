"""What stands behind the pods of an attempt: its root, and the objects whose controllers make pods.

The root is a ConfigMap that owns everything else of the attempt. It says that the attempt was begun, and bears the two
notes that must outlive the pods: why it is being ended, and since when it may be cleared away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trainyard.launcher.core.cluster import labels
from trainyard.launcher.core.cluster.pods import number, seconds
from trainyard.launcher.core.cluster.stopping import Stopped, parse
from trainyard.launcher.core.observation import Pending

KEEP = 3600.0  # seconds, where the job does not say


@dataclass(frozen=True, slots=True)
class Root:
    name: str
    namespace: str
    uid: str
    job_id: str
    attempt: int
    stopped: Stopped | None
    ended_at: float | None
    """Unix seconds since which the attempt is over and its logs are stored."""
    keep: float
    """Seconds that it stays after that."""
    source: str | None = None
    """The ConfigMap that has the job's folder."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A Job, JobSet or Volcano Job."""

    group_version: str
    kind: str
    name: str
    namespace: str
    uid: str
    job_id: str
    attempt: int
    failed: bool
    """Its controller has given up and makes no more pods."""
    waits: Pending | None
    """Why it makes none yet."""
    deleting: bool
    owners: frozenset[str]
    """UIDs."""


def read_root(document: dict[str, Any]) -> Root:
    metadata = document["metadata"]
    notes = metadata.get("annotations") or {}
    return Root(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata["uid"],
        job_id=_mark(metadata, labels.JOB),
        attempt=number(_mark(metadata, labels.ATTEMPT), 0),
        stopped=parse(notes.get(labels.STOPPED)),
        ended_at=_seconds(notes.get(labels.ENDED)),
        keep=KEEP if (keep := _seconds(notes.get(labels.KEEP))) is None else keep,
        source=notes.get(labels.SOURCE),
    )


def read_maker(group_version: str, kind: str, document: dict[str, Any]) -> Maker:
    """The kind is told beside the document: the items of a list do not bear it."""
    metadata, status = document["metadata"], document.get("status") or {}
    conditions = {item.get("type"): item for item in status.get("conditions") or () if isinstance(item, dict)}
    return Maker(
        group_version=group_version,
        kind=kind,
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata["uid"],
        job_id=_mark(metadata, labels.JOB),
        attempt=number(_mark(metadata, labels.ATTEMPT), 0),
        failed=_is(conditions, "Failed") or _is(conditions, "FailureTarget") or _phase(status) in {"Failed", "Aborted"},
        waits=_waits(document, conditions),
        deleting="deletionTimestamp" in metadata,
        owners=frozenset(str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()),
    )


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def _waits(document: dict[str, Any], conditions: dict[Any, dict[str, Any]]) -> Pending | None:
    if not (document.get("spec") or {}).get("suspend"):
        return None
    since = seconds(document["metadata"].get("creationTimestamp"))
    queue = (document["metadata"].get("labels") or {}).get("kueue.x-k8s.io/queue-name")
    return Pending(None, f"it waits in queue {queue}" if queue else "it is suspended", since)


def _is(conditions: dict[Any, dict[str, Any]], name: str) -> bool:
    return conditions.get(name, {}).get("status") == "True"


def _phase(status: dict[str, Any]) -> str:
    """Of a Volcano Job."""
    state = status.get("state")
    return str(state.get("phase") or "") if isinstance(state, dict) else ""


def _mark(metadata: dict[str, Any], name: str) -> str:
    return str((metadata.get("labels") or {}).get(name, ""))
