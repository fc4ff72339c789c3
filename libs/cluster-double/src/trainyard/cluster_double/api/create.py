"""POST: a new object, from its body to the store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainyard.cluster_double.api import bodies
from trainyard.cluster_double.api.admission import chain
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import WriteOptions
from trainyard.cluster_double.core.crd import check, definitions
from trainyard.cluster_double.core.crd import rules as crd_rules
from trainyard.cluster_double.core.errors import Cause, already_exists, bad_request, invalid, required
from trainyard.cluster_double.core.objects import Json, meta, name_of, namespace_of, spec_of, stamp, with_meta
from trainyard.cluster_double.core.patches.ownership import after_update
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.core.rules import metadata, pods
from trainyard.cluster_double.core.rules.strategy import strategy_of

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions"
_UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)
_NOT_GIVEN = ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "managedFields", "resourceVersion")


def create(cluster: Cluster, resource: Resource, namespace: str, body: Any, options: WriteOptions) -> Json:
    """The object as it is stored. Raises ApiError."""
    obj = named(cluster, resource, namespace, bodies.read(cluster, resource, body, options))
    return store_new(cluster, resource, obj, options)


def named(cluster: Cluster, resource: Resource, namespace: str, obj: Json) -> Json:
    """With its namespace, and with a name made of generateName where it has none. Raises ApiError."""
    given = namespace_of(obj)
    if given and given != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    name = name_of(obj)
    if not name:
        prefix = str(meta(obj).get("generateName") or "")
        if not prefix:
            cause = required("metadata.name", "name or generateName is required")
            raise invalid(resource, "", [cause])
        name = prefix[:58] + cluster.suffix()
    return with_meta(obj, name=name, namespace=namespace or None)


def store_new(
    cluster: Cluster, resource: Resource, obj: Json, options: WriteOptions, fields: Json | None = None
) -> Json:
    """Admits, checks and stores an object. `fields`: its managedFields where they are known already (an apply)."""
    strategy = strategy_of(resource.storage)
    obj = chain.mutate(cluster, resource, with_defaults(cluster, resource, obj))
    obj = strategy.prepare(_stamped(cluster, resource, obj))
    # As in a real server a name that is taken is found last, after everything else was asked.
    causes = list(faults(cluster, resource, obj))
    if causes:
        raise invalid(resource, name_of(obj), causes)
    chain.check(cluster, resource, obj, dry_run=options.dry_run)
    if cluster.store.get(resource.storage, namespace_of(obj), name_of(obj)) is not None:
        raise already_exists(resource, name_of(obj))
    if fields is not None:
        obj = with_meta(obj, managedFields=meta(fields).get("managedFields"))
    elif options.manager:
        obj = after_update(None, obj, cluster.shape(resource), options.manager, "", cluster.clock.now())
    if options.dry_run:
        return obj
    return cluster.store.put(resource.storage, obj)


def _stamped(cluster: Cluster, resource: Resource, obj: Json) -> Json:
    """With what the server alone says: uid, times, generation, and a status of its own."""
    obj = with_meta(obj, **dict.fromkeys(_NOT_GIVEN))
    obj = with_meta(obj, uid=cluster.uid(), creationTimestamp=stamp(cluster.clock.now()))
    obj = with_meta(obj, generation=1 if resource.generations else None)
    if resource.status:
        obj = {name: value for name, value in obj.items() if name != "status"}
        if not resource.custom:
            status = dict(strategy_of(resource.storage).initial_status)
            if resource.storage == "/pods":
                status["qosClass"] = pods.quality(spec_of(obj))
            obj["status"] = status
    if resource.storage == DEFINITIONS:
        versions = [version["name"] for version in spec_of(obj).get("versions") or () if version.get("storage")]
        names = {"plural": "", "kind": ""}
        obj["status"] = {"conditions": [], "acceptedNames": names, "storedVersions": versions}
    return obj


def with_defaults(cluster: Cluster, resource: Resource, obj: Json) -> Json:
    if resource.custom:
        filled: Json = check.with_defaults(obj, cluster.schema(resource))
        return filled
    if resource.storage == DEFINITIONS:
        return definitions.with_defaults(obj)
    return strategy_of(resource.storage).defaults(obj)


def faults(cluster: Cluster, resource: Resource, obj: Json, old: Json | None = None) -> Iterator[Cause]:
    """Everything that is wrong with an object, new or changed."""
    strategy = strategy_of(resource.storage)
    yield from metadata.faults(obj, strategy.name_fault)
    if resource.storage == DEFINITIONS:
        yield from definitions.faults(obj)
    if resource.custom:
        yield from custom_faults(cluster, resource, obj, old)
    else:
        yield from strategy.faults(obj)


def custom_faults(cluster: Cluster, resource: Resource, obj: Json, old: Json | None) -> Iterator[Cause]:
    schema = cluster.schema(resource)
    found = list(check.faults(obj, schema))
    yield from found
    if not found:
        yield from crd_rules.faults(obj, old, schema)
    elif crd_rules.has_rules(schema):
        yield Cause("<nil>", f"Invalid value: null: {_UNCHECKED}")
