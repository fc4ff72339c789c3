"""Pods that must be near others, or away from them: required affinity and anti-affinity between pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainyard.cluster_double.core.objects import Json, labels_of, namespace_of, spec_of
from trainyard.cluster_double.core.scheduling.filters import ANTI_AFFINITY, TOGETHER, Room
from trainyard.cluster_double.core.selectors import from_object

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def apart(pod: Json, room: Room, rooms: Mapping[str, Room]) -> str | None:
    """The reason why its neighbours bar the pod from this node; None when they do not."""
    for term in _terms(pod, "podAntiAffinity"):
        if any(_selects(term, pod, other) for other in _near(room, rooms, term)):
            return ANTI_AFFINITY
    for term in _terms(pod, "podAffinity"):
        if not any(_selects(term, pod, other) for other in _near(room, rooms, term)) and not _first(term, pod, rooms):
            return TOGETHER
    return None


def _terms(pod: Json, kind: str) -> list[Json]:
    found: list[Json] = ((spec_of(pod).get("affinity") or {}).get(kind) or {}).get(_REQUIRED) or []
    return found


def _near(room: Room, rooms: Mapping[str, Room], term: Json) -> Iterator[Json]:
    """The pods in the same topology domain."""
    key = term["topologyKey"]
    domain = labels_of(room.node).get(key)
    for other in rooms.values() if domain is not None else ():
        if labels_of(other.node).get(key) == domain:
            yield from other.pods.values()


def _selects(term: Json, pod: Json, other: Json) -> bool:
    namespaces = term.get("namespaces") or [namespace_of(pod)]
    return namespace_of(other) in namespaces and from_object(term.get("labelSelector")).matches(labels_of(other))


def _first(term: Json, pod: Json, rooms: Mapping[str, Room]) -> bool:
    """The first of a group that wants to be together may go anywhere."""
    everybody = (other for room in rooms.values() for other in room.pods.values())
    return _selects(term, pod, pod) and not any(_selects(term, pod, other) for other in everybody)
