"""Events (the kind): what controllers tell people about what they did."""

from __future__ import annotations

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core.objects import Json, meta, micro_stamp, name_of, namespace_of, stamp, uid_of


def note(cluster: Cluster, about: Json, kind: str, reason: str, message: str, source: str) -> None:
    """Stores an Event about an object. `kind` is Normal or Warning."""
    now = cluster.clock.now()
    namespace = namespace_of(about) or "default"
    event: Json = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{name_of(about)}.{cluster.token()}",
            "namespace": namespace,
            "uid": cluster.uid(),
            "creationTimestamp": stamp(now),
        },
        "involvedObject": {
            "kind": about["kind"],
            "namespace": namespace_of(about),
            "name": name_of(about),
            "uid": uid_of(about),
            "apiVersion": about["apiVersion"],
            "resourceVersion": meta(about).get("resourceVersion"),
        },
        "reason": reason,
        "message": message,
        "source": {"component": source},
        "firstTimestamp": stamp(now),
        "lastTimestamp": stamp(now),
        "count": 1,
        "type": kind,
        "eventTime": micro_stamp(now),
        "reportingComponent": source,
        "reportingInstance": source,
    }
    cluster.store.put("/events", event)
