"""PUT and PATCH: an object changes. `change` says how; everything that a change must keep is seen to here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from trainyard.cluster_double.api import bodies, create
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import WriteOptions
from trainyard.cluster_double.core.errors import ApiError, Cause, bad_request, conflict, invalid, not_found, stale
from trainyard.cluster_double.core.objects import (
    Json,
    finalizers_of,
    is_deleting,
    meta,
    name_of,
    namespace_of,
    spec_of,
    uid_of,
    with_meta,
)
from trainyard.cluster_double.core.patches.ownership import after_update
from trainyard.cluster_double.core.resources import Resource
from trainyard.cluster_double.core.rules import metadata
from trainyard.cluster_double.core.rules.strategy import strategy_of

_SERVERS = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "selfLink", "uid")


def require(cluster: Cluster, resource: Resource, namespace: str, name: str) -> Json:
    """Raises ApiError (404)."""
    found = cluster.store.get(resource.storage, namespace, name)
    if found is None:
        raise not_found(resource, name)
    return found


def replace(cluster: Cluster, resource: Resource, namespace: str, name: str, body: Any, options: WriteOptions) -> Json:
    """PUT. Raises ApiError."""
    new = bodies.read(cluster, resource, body, options)
    if name_of(new) != name:
        raise bad_request(
            f"the name of the object ({name_of(new)}) does not match the name on the URL ({name})"
            if name_of(new)
            else "the name of the object must be specified"
        )
    old = require(cluster, resource, namespace, name)
    if not meta(new).get("resourceVersion") and not resource.unconditional_update:
        raise _unversioned(resource, name)
    return commit(cluster, resource, old, with_meta(new, namespace=namespace or None), options)


def modify(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    name: str,
    change: Callable[[Json], Json],
    options: WriteOptions,
) -> Json:
    """A change of the object as it is now. Raises ApiError."""
    old = require(cluster, resource, namespace, name)
    return commit(cluster, resource, old, change(old), options)


def commit(
    cluster: Cluster, resource: Resource, old: Json, new: Json, options: WriteOptions, *, owned: bool = False
) -> Json:
    """Stores `new` in the place of `old`. `owned`: managedFields are as they shall be already. Raises ApiError."""
    name = name_of(old)
    version = meta(new).get("resourceVersion")
    if version and version != meta(old)["resourceVersion"]:
        raise stale(resource, name)
    if uid_of(new) and uid_of(new) != uid_of(old):
        key = f"/registry/{resource.plural}/{namespace_of(old)}/{name}"
        raise conflict(
            resource,
            name,
            f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
            f"Precondition failed: UID in precondition: {uid_of(new)}, UID in object meta: {uid_of(old)}",
        )
    new = _kept(resource, old, new, options.subresource)
    if not options.subresource:
        new = create.with_defaults(cluster, resource, new)
    causes = list(_faults(cluster, resource, old, new, options.subresource))
    if causes:
        raise invalid(resource, name, causes)
    if resource.generations and _without(old, "metadata", "status") != _without(new, "metadata", "status"):
        new = with_meta(new, generation=meta(old).get("generation", 0) + 1)
    if not owned and options.manager:
        shape = cluster.shape(resource)
        new = after_update(old, new, shape, options.manager, options.subresource, cluster.clock.now())
    if _same(old, new):
        return old
    if options.dry_run:
        return new
    return settle(cluster, resource, new)


def settle(cluster: Cluster, resource: Resource, new: Json) -> Json:
    """Stores the object, or removes it when it is being deleted and nothing holds it any more."""
    if is_deleting(new) and not finalizers_of(new) and not meta(new).get("deletionGracePeriodSeconds"):
        held = resource.storage == "/namespaces" and spec_of(new).get("finalizers")
        if not held:
            cluster.store.remove(resource.storage, namespace_of(new), name_of(new))
            return new
    return cluster.store.put(resource.storage, new)


def _kept(resource: Resource, old: Json, new: Json, subresource: str) -> Json:
    """With everything that this kind of write may not change as it was."""
    carried = {field: meta(old).get(field) for field in _SERVERS}
    carried |= {"name": name_of(old), "namespace": namespace_of(old) or None}
    carried["resourceVersion"] = meta(old)["resourceVersion"]
    if "managedFields" not in meta(new):
        carried["managedFields"] = meta(old).get("managedFields")
    if subresource == "status":
        kept = dict(old)
        kept.pop("status", None)
        if "status" in new:
            kept["status"] = new["status"]
        source = meta(old) if resource.custom else {**meta(new), "ownerReferences": meta(old).get("ownerReferences")}
        kept["metadata"] = {**source, "managedFields": meta(new).get("managedFields") or meta(old).get("managedFields")}
        return with_meta(kept, **carried)
    kept = with_meta(new, **carried)
    if resource.status and not subresource:
        kept.pop("status", None)
        if "status" in old:
            kept["status"] = old["status"]
    if resource.storage == "/namespaces" and subresource != "finalize":
        kept["spec"] = {**spec_of(kept), "finalizers": spec_of(old).get("finalizers") or []}
    return {"kind": old["kind"], **{name: value for name, value in kept.items() if name != "kind"}}


def _faults(cluster: Cluster, resource: Resource, old: Json, new: Json, subresource: str) -> Iterable[Cause]:
    yield from metadata.update_faults(old, new)
    if resource.custom:
        yield from create.custom_faults(cluster, resource, new, old)
    if subresource:
        return
    yield from create.faults(cluster, resource, new, old) if not resource.custom else ()
    if not resource.custom:
        yield from strategy_of(resource.storage).update_faults(old, new)


def _same(old: Json, new: Json) -> bool:
    """Whether nothing changes but the record of who wrote what."""
    if _without(old, "metadata") != _without(new, "metadata"):
        return False
    return _without(meta(old), "managedFields") == _without(meta(new), "managedFields") and _owners(old) == _owners(new)


def _owners(obj: Json) -> list[Json]:
    return [{name: v for name, v in entry.items() if name != "time"} for entry in meta(obj).get("managedFields") or ()]


def _without(obj: Json, *fields: str) -> Json:
    return {name: value for name, value in obj.items() if name not in fields}


def _unversioned(resource: Resource, name: str) -> ApiError:
    fault = Cause("metadata.resourceVersion", "Invalid value: 0: must be specified for an update")
    found = invalid(resource, name, [fault])
    found.message = found.message.replace(f"{resource.kind}.", f"{resource.plural}.", 1)
    if found.details is not None:
        found.details["kind"] = resource.plural
    return found
