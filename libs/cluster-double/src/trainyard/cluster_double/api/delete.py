"""DELETE: at once, after a grace period, or when the last finalizer is gone."""

from __future__ import annotations

from dataclasses import replace

from trainyard.cluster_double.api import update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions
from trainyard.cluster_double.core.errors import ApiError, forbidden
from trainyard.cluster_double.core.objects import (
    Json,
    finalizers_of,
    is_deleting,
    meta,
    name_of,
    seconds_of,
    spec_of,
    stamp,
    status_of,
    uid_of,
    with_meta,
)
from trainyard.cluster_double.core.resources import Resource

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_FINALIZER = {"Orphan": ORPHAN, "Foreground": FOREGROUND}
_FIXED = frozenset({"default", "kube-system", "kube-public"})


def delete(
    cluster: Cluster, resource: Resource, namespace: str, name: str, options: DeleteOptions
) -> tuple[Json, bool]:
    """(the object as it is now or was last, whether it is gone). Raises ApiError."""
    old = update.require(cluster, resource, namespace, name)
    _check(resource, old, options)
    if resource.orphans and not options.policy:
        options = replace(options, policy="Orphan")
    if resource.storage == "/namespaces" and name in _FIXED:
        raise forbidden(resource, name, "this namespace may not be deleted")
    grace = _grace(resource, old, options)
    finalizers = _finalizers(resource, old, options)
    held = bool(finalizers) or grace > 0 or (resource.storage == "/namespaces" and bool(spec_of(old).get("finalizers")))
    if not held:
        if not options.dry_run:
            cluster.store.remove(resource.storage, namespace, name)
        return (_marked(cluster, resource, old, 0, []) if resource.storage == "/pods" else old), True
    new = _marked(cluster, resource, old, grace, finalizers)
    if options.dry_run or new == old:
        return new, False
    return update.settle(cluster, resource, new), False


def _check(resource: Resource, old: Json, options: DeleteOptions) -> None:
    name, kind = name_of(old), resource.kind
    said = ""
    if options.uid and options.uid != uid_of(old):
        said = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid_of(old)}). "
            "The object might have been deleted and then recreated"
        )
    elif options.version and options.version != meta(old)["resourceVersion"]:
        said = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in record "
            f"({meta(old)['resourceVersion']}). The object might have been modified"
        )
    if said:
        # Unlike every other conflict this one names the kind, not the resource.
        sentence = f'Operation cannot be fulfilled on {kind} "{name}": {said}'
        details = {"name": name, **({"group": resource.group} if resource.group else {}), "kind": kind}
        raise ApiError(409, "Conflict", sentence, details)


def _grace(resource: Resource, old: Json, options: DeleteOptions) -> int:
    """Seconds that the object may still live. Only pods that run somewhere have any."""
    if resource.storage != "/pods":
        return 0
    ended = status_of(old).get("phase") in {"Succeeded", "Failed"}
    if not spec_of(old).get("nodeName") or ended:
        return 0
    usual = int(spec_of(old).get("terminationGracePeriodSeconds") or 0)
    wanted = usual if options.grace is None else options.grace
    if not is_deleting(old):
        return wanted
    # A deletion under way is only ever made shorter.
    before = int(meta(old).get("deletionGracePeriodSeconds") or 0)
    return before if options.grace is None else min(before, wanted)


def _finalizers(resource: Resource, old: Json, options: DeleteOptions) -> list[str]:
    kept = [one for one in finalizers_of(old) if not (options.policy and one in {ORPHAN, FOREGROUND})]
    if not options.policy:
        kept = finalizers_of(old)
    added = _FINALIZER.get(options.policy)
    if added:
        kept = [*kept, added]
    if resource.plural == "customresourcedefinitions" and CLEANUP not in kept and not is_deleting(old):
        kept = [*kept, CLEANUP]
    return kept


def _marked(cluster: Cluster, resource: Resource, old: Json, grace: int, finalizers: list[str]) -> Json:
    """The object with the mark of its deletion."""
    now = cluster.clock.now()
    new = with_meta(old, finalizers=finalizers or None)
    if not is_deleting(old):
        new = with_meta(new, deletionTimestamp=stamp(now + grace), deletionGracePeriodSeconds=grace)
        if resource.generations and resource.plural != "customresourcedefinitions":
            new = with_meta(new, generation=meta(old).get("generation", 0) + 1)
    elif grace < int(meta(old).get("deletionGracePeriodSeconds") or 0):
        started = seconds_of(meta(old)["deletionTimestamp"]) - int(meta(old)["deletionGracePeriodSeconds"])
        new = with_meta(new, deletionTimestamp=stamp(started + grace), deletionGracePeriodSeconds=grace)
    if resource.storage == "/namespaces":
        new = {**with_meta(new, deletionGracePeriodSeconds=None), "status": {**status_of(new), "phase": "Terminating"}}
    return new
