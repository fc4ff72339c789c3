"""What is counted: quotas are recounted when objects end or go; disruption budgets when pods become well or unwell."""

from __future__ import annotations

import math
from collections.abc import Iterable

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.pods import BUDGETS
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core import usage
from trainyard.cluster_double.core.objects import (
    Json,
    has_condition,
    is_deleting,
    labels_of,
    meta,
    name_of,
    namespace_of,
    spec_of,
    stamp,
    status_of,
    with_condition,
    with_status,
)
from trainyard.cluster_double.core.quantities import amount, written
from trainyard.cluster_double.core.selectors import from_object
from trainyard.cluster_double.store.events import Event

QUOTAS = "/resourcequotas"
_SETTLE = 0.1  # seconds: a burst of pods is counted once


def controllers(cluster: Cluster) -> tuple[Controller, ...]:
    return (
        Controller(
            "quotas",
            lambda storage, event: _quotas(cluster, storage, event),
            lambda key: _recount(cluster, key),
            _SETTLE,
        ),
        Controller(
            "budgets",
            lambda storage, event: _budgets(cluster, storage, event),
            lambda key: _budget(cluster, key),
            _SETTLE,
        ),
    )


def _quotas(cluster: Cluster, storage: str, event: Event) -> Iterable[Key]:
    if storage == QUOTAS:
        yield namespace_of(event.obj), name_of(event.obj)
    elif event.kind == "DELETED" or _ended(storage, event):
        for quota in cluster.store.entries(QUOTAS, namespace_of(event.obj)) if namespace_of(event.obj) else ():
            yield namespace_of(quota), name_of(quota)


def _ended(storage: str, event: Event) -> bool:
    return (
        storage == "/pods"
        and event.before is not None
        and usage.is_running(event.before) != usage.is_running(event.obj)
    )


def _recount(cluster: Cluster, key: Key) -> None:
    quota = cluster.store.get(QUOTAS, *key)
    if quota is None:
        return
    hard: dict[str, str] = spec_of(quota).get("hard") or {}
    used = usage.added(
        usage.of_object(storage, obj)
        for storage in cluster.store.storages()
        if storage != "/events"
        for obj in cluster.store.entries(storage, key[0])
    )
    counts = {name: written(used.get(name, amount("0")), limit) for name, limit in hard.items()}
    status = {"hard": hard, "used": counts}
    if status_of(quota) != status:
        cluster.store.put(QUOTAS, with_status(quota, status))


def _budgets(cluster: Cluster, storage: str, event: Event) -> Iterable[Key]:
    if storage == BUDGETS:
        yield namespace_of(event.obj), name_of(event.obj)
    elif storage == "/pods":
        for budget in cluster.store.entries(BUDGETS, namespace_of(event.obj)):
            yield namespace_of(budget), name_of(budget)


def _budget(cluster: Cluster, key: Key) -> None:
    budget = cluster.store.get(BUDGETS, *key)
    if budget is None:
        return
    spec, selector = spec_of(budget), from_object(spec_of(budget).get("selector"))
    pods = [
        pod
        for pod in cluster.store.entries("/pods", key[0])
        if selector.matches(labels_of(pod)) and usage.is_running(pod)
    ]
    healthy = sum(has_condition(pod, "Ready") and not is_deleting(pod) for pod in pods)
    expected = len(pods)
    if "maxUnavailable" in spec:
        desired = max(0, expected - _share(spec["maxUnavailable"], expected))
    else:
        desired = _share(spec.get("minAvailable", 1), expected)
    allowed = max(0, healthy - desired) if expected else 0
    told = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "observedGeneration": meta(budget).get("generation", 1),
        "lastTransitionTime": stamp(cluster.clock.now()),
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
    status: Json = {
        "observedGeneration": meta(budget).get("generation", 1),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": with_condition(status_of(budget).get("conditions") or [], told),
    }
    if status_of(budget) != status:
        cluster.store.put(BUDGETS, with_status(budget, status))


def _share(wanted: int | str, of: int) -> int:
    return wanted if isinstance(wanted, int) else math.ceil(of * int(wanted.rstrip("%")) / 100)
