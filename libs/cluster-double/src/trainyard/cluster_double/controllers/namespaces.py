"""Namespaces: what a new one gets, and how all that is in it goes with it. Custom kinds: the same for their definitions."""

from __future__ import annotations

from collections.abc import Iterable

from trainyard.cluster_double.api import create, delete, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions, WriteOptions
from trainyard.cluster_double.controllers.queue import Controller, Key
from trainyard.cluster_double.core.objects import (
    Json,
    finalizers_of,
    has_condition,
    is_deleting,
    name_of,
    namespace_of,
    spec_of,
    stamp,
    status_of,
    with_meta,
    with_status,
)
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.store.events import Event

_AGAIN = 0.2


def controllers(cluster: Cluster) -> tuple[Controller, ...]:
    return (
        Controller("namespaces", _namespaces, lambda key: _namespace(cluster, key)),
        Controller("definitions", _definitions, lambda key: _definition(cluster, key)),
    )


def _namespaces(storage: str, event: Event) -> Iterable[Key]:
    if storage == "/namespaces":
        yield "", name_of(event.obj)


def _namespace(cluster: Cluster, key: Key) -> float | None:
    namespace = cluster.store.get("/namespaces", *key)
    if namespace is None:
        return None
    if not is_deleting(namespace):
        _furnish(cluster, key[1])
        return None
    if _emptied(cluster, key[1]):
        update.settle(cluster, cluster.registry.named("namespaces"), {**namespace, "spec": {}})
        return None
    return _AGAIN


def _furnish(cluster: Cluster, name: str) -> None:
    for plural, obj in (
        ("serviceaccounts", {"metadata": {"name": "default"}}),
        ("configmaps", {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": ""}}),
    ):
        resource = cluster.registry.named(plural)
        if cluster.store.get(resource.storage, name, name_of(obj)) is None:
            create.create(cluster, resource, name, obj, WriteOptions())


def _emptied(cluster: Cluster, name: str) -> bool:
    """Deletes what is in the namespace; says whether nothing is left."""
    for resource in _kinds(cluster):
        if not resource.namespaced:
            continue
        for obj in cluster.store.entries(resource.storage, name):
            if not is_deleting(obj):
                delete.delete(cluster, resource, name, name_of(obj), DeleteOptions("Background"))
    return not any(cluster.store.count(storage, name) for storage in cluster.store.storages())


def _kinds(cluster: Cluster) -> list[Resource]:
    """One resource a kind, whatever its versions. Pods last, since others would make new ones."""
    found = {resource.storage: resource for resource in cluster.registry}
    return sorted(found.values(), key=lambda resource: (resource.plural == "pods", resource.storage))


def _definitions(storage: str, event: Event) -> Iterable[Key]:
    if storage == create.DEFINITIONS:
        yield "", name_of(event.obj)


def _definition(cluster: Cluster, key: Key) -> float | None:
    definition = cluster.store.get(create.DEFINITIONS, *key)
    if definition is None:
        return None
    if is_deleting(definition):
        return _withdraw(cluster, definition)
    names = spec_of(definition)["names"]
    if not has_condition(definition, "Established") or status_of(definition).get("acceptedNames") != names:
        definition = cluster.store.put(create.DEFINITIONS, _accepted(cluster, definition))
    group, plural = spec_of(definition)["group"], names["plural"]
    if cluster.definitions.get((group, plural)) is not definition:
        cluster.serve(definition)
    return None


def _accepted(cluster: Cluster, definition: Json) -> Json:
    now = stamp(cluster.clock.now())
    told = (
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    )
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": now, "reason": reason, "message": message}
        for kind, reason, message in told
    ]
    names = spec_of(definition)["names"]
    return with_status(definition, {**status_of(definition), "conditions": conditions, "acceptedNames": names})


def _withdraw(cluster: Cluster, definition: Json) -> float | None:
    """Custom objects go before their definition."""
    spec = spec_of(definition)
    storage = f"{spec['group']}/{spec['names']['plural']}"
    resource = next((one for one in cluster.registry if one.storage == storage), None)
    for obj in cluster.store.entries(storage):
        if resource is not None and not is_deleting(obj):
            delete.delete(cluster, resource, namespace_of(obj), name_of(obj), DeleteOptions("Background"))
    if cluster.store.entries(storage):
        return _AGAIN
    cluster.forget(spec["group"], spec["names"]["plural"])
    kept = [one for one in finalizers_of(definition) if one != delete.CLEANUP]
    update.settle(
        cluster,
        cluster.registry.named("customresourcedefinitions", "apiextensions.k8s.io"),
        with_meta(definition, finalizers=kept or None),
    )
    return None
