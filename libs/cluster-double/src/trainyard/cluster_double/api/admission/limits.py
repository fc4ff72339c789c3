"""LimitRanges: defaults for containers that ask for nothing, and bounds for those that ask for too much."""

from __future__ import annotations

from collections.abc import Iterator

from trainyard.cluster_double.api.cluster import Cluster
from trainyard.cluster_double.core.errors import forbidden
from trainyard.cluster_double.core.objects import (
    Json,
    annotations_of,
    containers_of,
    name_of,
    namespace_of,
    spec_of,
    with_meta,
)
from trainyard.cluster_double.core.quantities import amount

_NOTE = "kubernetes.io/limit-ranger"


def apply_defaults(cluster: Cluster, pod: Json) -> Json:
    for limit in _limits(cluster, pod, "Container"):
        pod = _with_defaults(pod, limit)
    return pod


def check(cluster: Cluster, pod: Json) -> None:
    """Raises ApiError."""
    said = [
        fault
        for limit in _limits(cluster, pod, "Container")
        for _, container in containers_of(spec_of(pod))
        for fault in _faults(limit, container.get("resources") or {})
    ]
    if said:
        why = said[0] if len(said) == 1 else f"[{', '.join(said)}]"
        raise forbidden(cluster.registry.named("pods"), name_of(pod), why)


def _limits(cluster: Cluster, pod: Json, kind: str) -> Iterator[Json]:
    for found in cluster.store.entries("/limitranges", namespace_of(pod)):
        yield from (limit for limit in spec_of(found).get("limits") or () if limit.get("type") == kind)


def _with_defaults(pod: Json, limit: Json) -> Json:
    spec = dict(spec_of(pod))
    said: list[str] = []
    for group in ("initContainers", "containers"):
        if group in spec:
            spec[group] = [_container(container, limit, said) for container in spec[group]]
    if not said:
        return pod
    note = f"LimitRanger plugin set: {'; '.join(said)}"
    return with_meta({**pod, "spec": spec}, annotations={**annotations_of(pod), _NOTE: note})


def _container(container: Json, limit: Json, said: list[str]) -> Json:
    resources = dict(container.get("resources") or {})
    for part, source, word in (("requests", "defaultRequest", "request"), ("limits", "default", "limit")):
        given = dict(resources.get(part) or {})
        for name, value in (limit.get(source) or {}).items():
            if name not in given:
                given[name] = value
                said.append(f"{name} {word} for container {container.get('name')}")
        if given:
            resources[part] = given
    return {**container, "resources": resources}


def _faults(limit: Json, resources: Json) -> Iterator[str]:
    for name, bound in (limit.get("max") or {}).items():
        for part, word in (("limits", "limit"), ("requests", "request")):
            value = (resources.get(part) or {}).get(name)
            if value is None and part == "limits":
                yield f"maximum {name} usage per Container is {bound}.  No limit is specified"
                break
            if value is not None and amount(value) > amount(bound):
                yield f"maximum {name} usage per Container is {bound}, but {word} is {value}"
                break
    for name, bound in (limit.get("min") or {}).items():
        value = (resources.get("requests") or {}).get(name)
        if value is None:
            yield f"minimum {name} usage per Container is {bound}.  No request is specified"
        elif amount(value) < amount(bound):
            yield f"minimum {name} usage per Container is {bound}, but request is {value}"
