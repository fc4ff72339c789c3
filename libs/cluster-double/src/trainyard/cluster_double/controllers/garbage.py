"""Garbage: dependents of what is gone go too, or are kept as orphans; and pods of nodes that are gone."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cluster_double.api import delete, pods, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core.objects import (
    Json,
    finalizers_of,
    is_deleting,
    name_of,
    namespace_of,
    owners_of,
    spec_of,
    status_of,
    uid_of,
    with_meta,
)
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.store.events import Event

_NODE_GONE_SECONDS = 40.0


def controllers(cluster: Cluster) -> tuple[Controller, ...]:
    return (
        Controller(
            "garbage", lambda storage, event: _concerned(cluster, storage, event), lambda key: _collect(cluster, key)
        ),
        Controller(
            "pod-garbage", lambda storage, event: _lost(cluster, storage, event), lambda key: _collect_pod(cluster, key)
        ),
    )


def _concerned(cluster: Cluster, storage: str, event: Event) -> Iterable[Key]:
    """Keys are (storage, namespace/name)."""
    obj = event.obj
    if event.kind == "DELETED":
        for its_storage, dependent in cluster.store.owned_by(uid_of(obj)):
            yield its_storage, _place(dependent)
        for owner in owners_of(obj):
            # An owner that waits for its dependents in the foreground.
            found = _owner(cluster, owner, namespace_of(obj))
            if found is not None and is_deleting(found[1]):
                yield found[0].storage, _place(found[1])
    elif _waits(obj) or (owners_of(obj) and (event.before is None or owners_of(event.before) != owners_of(obj))):
        yield storage, _place(obj)


def _waits(obj: Json) -> bool:
    """Whether its deletion waits for what becomes of its dependents."""
    return is_deleting(obj) and bool({delete.ORPHAN, delete.FOREGROUND} & set(finalizers_of(obj)))


def _place(obj: Json) -> str:
    return f"{namespace_of(obj)}/{name_of(obj)}"


def _collect(cluster: Cluster, key: Key) -> float | None:
    storage, (namespace, _, name) = key[0], key[1].partition("/")
    obj = cluster.store.get(storage, namespace, name)
    resource = next((one for one in cluster.registry if one.storage == storage), None)
    if obj is None or resource is None:
        return None
    if is_deleting(obj) and delete.ORPHAN in finalizers_of(obj):
        _orphan(cluster, resource, obj)
    elif is_deleting(obj) and delete.FOREGROUND in finalizers_of(obj):
        _foreground(cluster, resource, obj)
    elif owners_of(obj):
        _check_owners(cluster, resource, obj)
    return None


def _orphan(cluster: Cluster, resource: Resource, obj: Json) -> None:
    for storage, dependent in cluster.store.owned_by(uid_of(obj)):
        kept = [owner for owner in owners_of(dependent) if owner["uid"] != uid_of(obj)]
        cluster.store.put(storage, with_meta(dependent, ownerReferences=kept or None))
    _release(cluster, resource, obj, delete.ORPHAN)


def _foreground(cluster: Cluster, resource: Resource, obj: Json) -> None:
    blocking = False
    for storage, dependent in cluster.store.owned_by(uid_of(obj)):
        mine = next(owner for owner in owners_of(dependent) if owner["uid"] == uid_of(obj))
        blocking = blocking or bool(mine.get("blockOwnerDeletion"))
        if not is_deleting(dependent):
            its = next(one for one in cluster.registry if one.storage == storage)
            delete.delete(cluster, its, namespace_of(dependent), name_of(dependent), DeleteOptions("Background"))
    still = [one for _, one in cluster.store.owned_by(uid_of(obj)) if _blocks(one, obj)]
    if not (blocking and still):
        _release(cluster, resource, obj, delete.FOREGROUND)


def _blocks(dependent: Json, owner: Json) -> bool:
    return any(one["uid"] == uid_of(owner) and one.get("blockOwnerDeletion") for one in owners_of(dependent))


def _release(cluster: Cluster, resource: Resource, obj: Json, finalizer: str) -> None:
    live = update.require(cluster, resource, namespace_of(obj), name_of(obj))
    kept = [one for one in finalizers_of(live) if one != finalizer]
    update.settle(cluster, resource, with_meta(live, finalizers=kept or None))


def _check_owners(cluster: Cluster, resource: Resource, obj: Json) -> None:
    """An object all of whose owners are gone goes; owners that are gone are struck off beside one that is there."""
    there = [owner for owner in owners_of(obj) if _owner(cluster, owner, namespace_of(obj)) is not None]
    if not there:
        if not is_deleting(obj):
            delete.delete(
                cluster, resource, namespace_of(obj), name_of(obj), DeleteOptions("Background", uid=uid_of(obj))
            )
    elif len(there) != len(owners_of(obj)):
        cluster.store.put(resource.storage, with_meta(obj, ownerReferences=there))


def _owner(cluster: Cluster, owner: Json, namespace: str) -> tuple[Resource, Json] | None:
    resource = cluster.registry.of_kind(owner["apiVersion"], owner["kind"])
    if resource is None:
        return None
    found = cluster.store.get(resource.storage, namespace if resource.namespaced else "", owner["name"])
    return (resource, found) if found is not None and uid_of(found) == owner["uid"] else None


def _lost(cluster: Cluster, storage: str, event: Event) -> Iterable[Key]:
    if storage == "/nodes" and event.kind == "DELETED":
        for pod in cluster.store.entries("/pods"):
            if spec_of(pod).get("nodeName") == name_of(event.obj):
                yield namespace_of(pod), name_of(pod)
    elif storage == "/pods" and event.kind != "DELETED" and is_deleting(event.obj):
        yield namespace_of(event.obj), name_of(event.obj)


def _collect_pod(cluster: Cluster, key: Key) -> float | None:
    pod = cluster.store.get("/pods", *key)
    if pod is None:
        return None
    node = str(spec_of(pod).get("nodeName") or "")
    gone = bool(node) and cluster.store.get("/nodes", "", node) is None
    if not gone:
        return None
    if cluster.clock.now() - cluster.gone_since(node) < _NODE_GONE_SECONDS:
        return _NODE_GONE_SECONDS / 4
    resource = cluster.registry.named("pods")
    if status_of(pod).get("phase") not in {"Succeeded", "Failed"}:
        pod = pods.disrupt(cluster, pod, "DeletionByPodGC", "PodGC: node no longer exists")
        status = {**status_of(pod), "phase": "Failed"}
        cluster.store.put("/pods", {**pod, "status": status})
    delete.delete(cluster, resource, *key, DeleteOptions(grace=0))
    return None
