"""What only pods can be asked: to be bound to a node, to be evicted."""

from __future__ import annotations

from typing import Any

from trainyard.cluster_double.api import delete, update
from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.api.options import DeleteOptions, WriteOptions, delete_options
from trainyard.cluster_double.core.errors import ApiError, bad_request, conflict, invalid, required
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
from trainyard.cluster_double.core.selectors import from_object

BUDGETS = "policy/poddisruptionbudgets"
DISRUPTION = "DisruptionTarget"


def success(code: int) -> Json:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": code}


def bind(cluster: Cluster, namespace: str, name: str, body: Any) -> Json:
    """POST pods/NAME/binding. Raises ApiError."""
    pods = cluster.registry.named("pods")
    if not isinstance(body, dict) or name_of(body) != name:
        raise bad_request("name in URL does not match name in Binding object")
    node = (body.get("target") or {}).get("name")
    if not node:
        raise invalid(pods, name, [required("target.name")])
    pod = update.require(cluster, pods, namespace, name)
    if is_deleting(pod):
        raise conflict(pods, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec_of(pod).get("nodeName"):
        raise conflict(pods, name, f'pod {name} is already assigned to node "{spec_of(pod)["nodeName"]}"')
    if spec_of(pod).get("schedulingGates"):
        raise conflict(pods, name, f"pod {name} has non-empty .spec.schedulingGates")
    now = stamp(cluster.clock.now())
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    conditions = with_condition(status_of(pod).get("conditions") or [], scheduled)
    bound = with_status(
        {**pod, "spec": {**spec_of(pod), "nodeName": node}}, {**status_of(pod), "conditions": conditions}
    )
    cluster.store.put(pods.storage, bound)
    return success(201)


def evict(cluster: Cluster, namespace: str, name: str, body: Any) -> Json:
    """POST pods/NAME/eviction: a deletion that disruption budgets may refuse. Raises ApiError."""
    pods = cluster.registry.named("pods")
    if not isinstance(body, dict):
        raise bad_request("an Eviction is needed")
    given = meta(body).get("name")
    if given and given != name:
        raise bad_request("name in URL does not match name in Eviction object")
    pod = update.require(cluster, pods, namespace, name)
    options = delete_options({}, body.get("deleteOptions") or {})
    ended = status_of(pod).get("phase") in {"Succeeded", "Failed", "Pending"}
    if not ended and not is_deleting(pod):
        _charge(cluster, pod, dry_run=options.dry_run)
    if not options.dry_run:
        disrupt(cluster, pod, "EvictionByEvictionAPI", "Eviction API: evicting")
        delete.delete(cluster, pods, namespace, name, DeleteOptions(grace=options.grace, uid=options.uid))
    return success(201)


def disrupt(cluster: Cluster, pod: Json, reason: str, message: str) -> Json:
    """Marks a pod as ended from outside, so that a job need not count it as its own failure."""
    mark = {
        "type": DISRUPTION,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(cluster.clock.now()),
        "reason": reason,
        "message": message,
    }
    status = {**status_of(pod), "conditions": with_condition(status_of(pod).get("conditions") or [], mark)}
    options = WriteOptions(subresource="status")
    resource = cluster.registry.named("pods")
    return update.modify(
        cluster, resource, namespace_of(pod), name_of(pod), lambda live: with_status(live, status), options
    )


def _charge(cluster: Cluster, pod: Json, *, dry_run: bool) -> None:
    """Takes one disruption of the budget that covers the pod. Raises ApiError (429)."""
    covering = [
        budget
        for budget in cluster.store.entries(BUDGETS, namespace_of(pod))
        if from_object(spec_of(budget).get("selector")).matches(labels_of(pod))
    ]
    if len(covering) > 1:
        raise ApiError(
            500,
            "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        )
    for budget in covering:
        status = status_of(budget)
        allowed = int(status.get("disruptionsAllowed") or 0)
        if allowed <= 0 and has_condition(pod, "Ready"):
            needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
            raise _refused(name_of(budget), f"needs {needed} healthy pods and has {healthy} currently")
        if allowed > 0 and not dry_run:
            cluster.store.put(BUDGETS, with_status(budget, {**status, "disruptionsAllowed": allowed - 1}))


def _refused(budget: str, why: str) -> ApiError:
    message = f"The disruption budget {budget} {why}"
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": message}]}
    said = "Cannot evict pod as it would violate the pod's disruption budget."
    return ApiError(429, "TooManyRequests", said, details)
