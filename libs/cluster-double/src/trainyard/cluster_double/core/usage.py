"""How much an object uses of what a ResourceQuota counts. Asked at admission, and by the controller that recounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

from trainyard.cluster_double.core.objects import Json, spec_of, status_of
from trainyard.cluster_double.core.quantities import amount

Usage = dict[str, Fraction]
_SHORT = {"requests.cpu": "cpu", "requests.memory": "memory", "requests.ephemeral-storage": "ephemeral-storage"}
COUNTED = (
    "pods",
    "services",
    "configmaps",
    "secrets",
    "persistentvolumeclaims",
    "resourcequotas",
    "replicationcontrollers",
)


def of_object(storage: str, obj: Json) -> Usage:
    group, _, plural = storage.partition("/")
    counted = {f"count/{plural}.{group}" if group else f"count/{plural}": Fraction(1)}
    if not group and plural in COUNTED:
        counted[plural] = Fraction(1)
    if storage == "/pods":
        if not is_running(obj):
            return {"count/pods": Fraction(1)}
        counted |= of_pod(spec_of(obj))
    return counted


def is_running(pod: Json) -> bool:
    """A pod that has ended uses nothing."""
    return status_of(pod).get("phase") not in {"Succeeded", "Failed"}


def of_pod(spec: Json) -> Usage:
    used: Usage = {}
    for part in ("requests", "limits"):
        for name, value in pod_total(spec, part).items():
            used[f"{part}.{name}"] = value
    for long, short in _SHORT.items():
        if long in used:
            used[short] = used[long]
    return used


def pod_total(spec: Json, part: str) -> Usage:
    """Containers together, or the largest init container, whichever is more; and the overhead."""
    together: dict[str, Fraction] = defaultdict(Fraction)
    for container in spec.get("containers") or ():
        for name, value in ((container.get("resources") or {}).get(part) or {}).items():
            together[name] += amount(value)
    for container in spec.get("initContainers") or ():
        for name, value in ((container.get("resources") or {}).get(part) or {}).items():
            together[name] = max(together[name], amount(value))
    for name, value in (spec.get("overhead") or {}).items():
        together[name] += amount(value)
    return dict(together)


def missing(spec: Json, hard: Iterable[str]) -> dict[str, list[str]]:
    """Compute resources under quota → containers that do not say how much of them they want."""
    found: dict[str, list[str]] = {}
    for name in sorted(hard):
        part, dot, kind = name.partition(".")
        part, kind = (part, kind) if dot and part in {"requests", "limits"} else ("requests", name)
        if kind not in {"cpu", "memory"}:  # of other resources a pod may be silent
            continue
        silent = [
            str(container.get("name"))
            for group in ("containers", "initContainers")
            for container in spec.get(group) or ()
            if kind not in ((container.get("resources") or {}).get(part) or {})
        ]
        if silent:
            found[name] = silent
    return found


def added(usages: Iterable[Usage]) -> Usage:
    total: dict[str, Fraction] = defaultdict(Fraction)
    for usage in usages:
        for name, value in usage.items():
            total[name] += value
    return dict(total)
