"""What a cluster adds to every pod: its priority, and how long it stays on a node that is lost."""

from __future__ import annotations

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core.errors import forbidden
from trainyard.cluster_double.core.objects import Json, name_of, spec_of

SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
LOST = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
LOST_SECONDS = 300


def with_priority(cluster: Cluster, pod: Json) -> Json:
    """Raises ApiError for a class that is not there."""
    spec = dict(spec_of(pod))
    name = spec.get("priorityClassName") or _default_class(cluster)
    value, preemption = 0, "PreemptLowerPriority"
    if name in SYSTEM_CLASSES:
        value = SYSTEM_CLASSES[name]
    elif name:
        found = cluster.store.get("scheduling.k8s.io/priorityclasses", "", name)
        if found is None:
            why = f"no PriorityClass with name {name} was found"
            raise forbidden(cluster.registry.named("pods"), name_of(pod), why)
        value, preemption = found["value"], found["preemptionPolicy"]
    if name:
        spec["priorityClassName"] = name
    if spec.get("priority", value) != value:
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; priority admission "
            f"controller computed {value} from the given PriorityClass name"
        )
        raise forbidden(cluster.registry.named("pods"), name_of(pod), why)
    return {**pod, "spec": {**spec, "priority": value, "preemptionPolicy": spec.get("preemptionPolicy", preemption)}}


def _default_class(cluster: Cluster) -> str:
    classes = cluster.store.entries("scheduling.k8s.io/priorityclasses")
    return next((str(found["metadata"]["name"]) for found in classes if found.get("globalDefault")), "")


def with_tolerations(_: Cluster, pod: Json) -> Json:
    spec = spec_of(pod)
    tolerations = list(spec.get("tolerations") or ())
    for key in LOST:
        if not any(_tolerates(one, key) for one in tolerations):
            tolerations.append(
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": LOST_SECONDS}
            )
    return {**pod, "spec": {**spec, "tolerations": tolerations}}


def _tolerates(toleration: Json, key: str) -> bool:
    return toleration.get("key") in {key, None, ""} and toleration.get("effect") in {"NoExecute", None, ""}
