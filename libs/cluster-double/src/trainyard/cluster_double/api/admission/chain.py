"""What is asked of every new object before it is stored: first who change it, then who only refuse."""

from __future__ import annotations

from collections.abc import Callable

from trainyard.cluster_double.api.admission import limits, pods, quota
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core.errors import ApiError, forbidden, not_found
from trainyard.cluster_double.core.objects import Json, is_deleting, name_of, namespace_of
from trainyard.cluster_double.core.resources import Resource

Mutate = Callable[[Cluster, Json], Json]

MUTATING: dict[str, tuple[Mutate, ...]] = {
    "/pods": (limits.apply_defaults, pods.with_priority, pods.with_tolerations),
}
Check = Callable[[Cluster, Json], None]
CHECKS: dict[str, tuple[Check, ...]] = {"/pods": (limits.check,)}


def mutate(cluster: Cluster, resource: Resource, obj: Json) -> Json:
    """Raises ApiError."""
    if resource.namespaced:
        _check_namespace(cluster, resource, obj)
    for change in MUTATING.get(resource.storage, ()):
        obj = change(cluster, obj)
    return obj


def check(cluster: Cluster, resource: Resource, obj: Json, *, dry_run: bool) -> None:
    """Raises ApiError. Charges the quotas, so it comes last."""
    for ask in CHECKS.get(resource.storage, ()):
        ask(cluster, obj)
    quota.charge(cluster, resource, obj, dry_run=dry_run)


def _check_namespace(cluster: Cluster, resource: Resource, obj: Json) -> None:
    name = namespace_of(obj)
    namespace = cluster.store.get("/namespaces", "", name)
    if namespace is None:
        raise not_found(cluster.registry.named("namespaces"), name)
    if is_deleting(namespace):
        raise _terminating(resource, obj, name)


def _terminating(resource: Resource, obj: Json, namespace: str) -> ApiError:
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    return forbidden(resource, name_of(obj), why, [cause])
