"""Nodes: a silent one becomes Unknown, one that is not ready is tainted, and pods that do not tolerate that go."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cluster_double.api import delete, pods
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core.objects import (
    Json,
    condition,
    has_condition,
    is_deleting,
    meta,
    name_of,
    namespace_of,
    seconds_of,
    spec_of,
    stamp,
    status_of,
    with_condition,
    with_status,
)
from trainyard.cluster_double.core.scheduling.filters import tolerates
from trainyard.cluster_double.core.usage import is_running
from trainyard.cluster_double.store.events import Event

LEASES = "coordination.k8s.io/leases"
LEASE_NAMESPACE = "kube-node-lease"
_READY = {"False": "node.kubernetes.io/not-ready", "Unknown": "node.kubernetes.io/unreachable"}
_UNSCHEDULABLE = "node.kubernetes.io/unschedulable"


def controllers(cluster: Cluster) -> tuple[Controller, ...]:
    return (
        Controller("nodes", _nodes, lambda key: _node(cluster, key)),
        Controller(
            "taint-eviction",
            lambda storage, event: _evictable(cluster, storage, event),
            lambda key: _evict(cluster, key),
        ),
    )


def _nodes(storage: str, event: Event) -> Iterable[Key]:
    if storage == "/nodes" and event.kind != "DELETED":
        yield "", name_of(event.obj)


def _node(cluster: Cluster, key: Key) -> float | None:
    node = cluster.store.get("/nodes", *key)
    if node is None:
        return None
    left = _heard(cluster, node) + cluster.settings.node_grace_seconds - cluster.clock.now()
    if left <= 0:
        node = _silent(cluster, node)
    _tainted(cluster, node)
    return max(left, 1.0)


def _heard(cluster: Cluster, node: Json) -> float:
    """When the node was last heard of."""
    times = [seconds_of(meta(node)["creationTimestamp"])]
    ready = condition(node, "Ready")
    if ready is not None and ready.get("lastHeartbeatTime"):
        times.append(seconds_of(ready["lastHeartbeatTime"]))
    lease = cluster.store.get(LEASES, LEASE_NAMESPACE, name_of(node))
    if lease is not None and spec_of(lease).get("renewTime"):
        times.append(seconds_of(spec_of(lease)["renewTime"]))
    return max(times)


def _silent(cluster: Cluster, node: Json) -> Json:
    ready = condition(node, "Ready")
    if ready is not None and ready.get("status") == "Unknown":
        return node
    told = {
        **(ready or {}),
        "type": "Ready",
        "status": "Unknown",
        "lastTransitionTime": stamp(cluster.clock.now()),
        "reason": "NodeStatusUnknown" if ready else "NodeStatusNeverUpdated",
        "message": "Kubelet stopped posting node status." if ready else "Kubelet never posted node status.",
    }
    conditions = with_condition(status_of(node).get("conditions") or [], told)
    _unready(cluster, name_of(node))
    return cluster.store.put("/nodes", with_status(node, {**status_of(node), "conditions": conditions}))


def _tainted(cluster: Cluster, node: Json) -> None:
    ready = condition(node, "Ready")
    status = ready.get("status", "") if ready is not None else ""
    wanted: list[tuple[str, str]] = []
    if status in _READY:
        wanted = [(_READY[status], "NoSchedule"), (_READY[status], "NoExecute")]
    elif ready is None:
        wanted = [(_READY["False"], "NoSchedule")]
    if spec_of(node).get("unschedulable"):
        wanted.append((_UNSCHEDULABLE, "NoSchedule"))
    present = spec_of(node).get("taints") or []
    ours = {*_READY.values(), _UNSCHEDULABLE}
    kept = [one for one in present if one["key"] not in ours or (one["key"], one["effect"]) in wanted]
    have = {(one["key"], one["effect"]) for one in kept}
    now = stamp(cluster.clock.now())
    added = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in wanted if (key, effect) not in have]
    if added or len(kept) != len(present):
        spec = {**spec_of(node), "taints": [*kept, *added]}
        if not spec["taints"]:
            del spec["taints"]
        cluster.store.put("/nodes", {**node, "spec": spec})


def _unready(cluster: Cluster, node: str) -> None:
    """Pods of a node that fell silent are not ready. Of one that calls itself not ready they keep their own word."""
    for pod in cluster.store.entries("/pods"):
        if spec_of(pod).get("nodeName") == node and has_condition(pod, "Ready") and is_running(pod):
            told = {"type": "Ready", "status": "False", "lastTransitionTime": stamp(cluster.clock.now())}
            conditions = with_condition(status_of(pod).get("conditions") or [], told)
            cluster.store.put("/pods", with_status(pod, {**status_of(pod), "conditions": conditions}))


def _executing(node: Json) -> list[Json]:
    return [taint for taint in spec_of(node).get("taints") or () if taint.get("effect") == "NoExecute"]


def _evictable(cluster: Cluster, storage: str, event: Event) -> Iterable[Key]:
    if storage == "/nodes" and event.kind != "DELETED":
        before = _executing(event.before) if event.before is not None else []
        if _executing(event.obj) != before:
            for pod in cluster.store.entries("/pods"):
                if spec_of(pod).get("nodeName") == name_of(event.obj):
                    yield namespace_of(pod), name_of(pod)
    elif storage == "/pods" and event.kind != "DELETED":
        bound = spec_of(event.obj).get("nodeName")
        if bound and (event.before is None or not spec_of(event.before).get("nodeName")):
            yield namespace_of(event.obj), name_of(event.obj)


def _evict(cluster: Cluster, key: Key) -> float | None:
    pod = cluster.store.get("/pods", *key)
    node = cluster.store.get("/nodes", "", spec_of(pod).get("nodeName", "")) if pod is not None else None
    if pod is None or node is None or is_deleting(pod) or not is_running(pod):
        return None
    stays: list[float] = []
    for taint in _executing(node):
        matching = [one for one in spec_of(pod).get("tolerations") or () if tolerates(one, taint)]
        if not matching:
            stays.append(0.0)
        limits = [float(one["tolerationSeconds"]) for one in matching if one.get("tolerationSeconds") is not None]
        if limits and len(limits) == len(matching):
            since = seconds_of(taint["timeAdded"]) if taint.get("timeAdded") else cluster.clock.now()
            stays.append(max(0.0, since + min(limits) - cluster.clock.now()))
    if not stays:
        return None
    if min(stays) > 0:
        return min(stays)
    pods.disrupt(cluster, pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
    delete.delete(cluster, cluster.registry.named("pods"), *key, DeleteOptions())
    return None
