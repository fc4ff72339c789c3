"""Whether a pod may run on a node, and if not why not, in the scheduler's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from trainyard.cluster_double.core.objects import Json, labels_of, name_of, spec_of, status_of
from trainyard.cluster_double.core.quantities import amount
from trainyard.cluster_double.core.usage import pod_total

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
TOGETHER = "node(s) didn't match pod affinity rules"
TOO_MANY = "Too many pods"


@dataclass(slots=True)
class Room:
    """A node, and what its pods take of it."""

    node: Json
    used: dict[str, Fraction] = field(default_factory=dict)
    pods: dict[str, Json] = field(default_factory=dict)
    """uid → pod"""

    @property
    def allocatable(self) -> Mapping[str, str]:
        found: Mapping[str, str] = status_of(self.node).get("allocatable") or status_of(self.node).get("capacity") or {}
        return found

    def add(self, uid: str, pod: Json) -> None:
        self.pods[uid] = pod
        self._change(pod, 1)

    def take(self, uid: str) -> None:
        pod = self.pods.pop(uid, None)
        if pod is not None:
            self._change(pod, -1)

    def _change(self, pod: Json, sign: int) -> None:
        for name, value in requests_of(pod).items():
            self.used[name] = self.used.get(name, Fraction(0)) + sign * value


def requests_of(pod: Json) -> dict[str, Fraction]:
    return {**pod_total(spec_of(pod), "requests"), "pods": Fraction(1)}


def lacking(pod: Json, room: Room, freed: Iterable[Json] = ()) -> list[str]:
    """Resources of which the node has too little, as reasons. `freed`: pods thought away."""
    used = dict(room.used)
    for other in freed:
        for name, value in requests_of(other).items():
            used[name] -= value
    found = []
    for name, wanted in requests_of(pod).items():
        if wanted and used.get(name, Fraction(0)) + wanted > amount(room.allocatable.get(name, "0")):
            found.append(TOO_MANY if name == "pods" else f"Insufficient {name}")
    return found


def tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    key = toleration.get("key")
    if not key:
        return toleration.get("operator") == "Exists"
    if key != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def barred(pod: Json, room: Room) -> str | None:
    """A reason that does not go away when other pods leave; None when there is none."""
    for reason, allows in _RULES:
        if not allows(pod, room):
            return reason
    return None


def _is_open(pod: Json, room: Room) -> bool:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    tolerated = any(tolerates(one, taint) for one in spec_of(pod).get("tolerations") or ())
    return tolerated or not spec_of(room.node).get("unschedulable")


def _is_tolerated(pod: Json, room: Room) -> bool:
    tolerations = spec_of(pod).get("tolerations") or ()
    return all(
        taint["effect"] == "PreferNoSchedule" or any(tolerates(one, taint) for one in tolerations)
        for taint in spec_of(room.node).get("taints") or ()
    )


def _is_selected(pod: Json, room: Room) -> bool:
    spec, labels = spec_of(pod), labels_of(room.node)
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    wanted = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not wanted:
        return True
    return any(_matches_term(term, room.node) for term in wanted.get("nodeSelectorTerms") or ())


def _matches_term(term: Json, node: Json) -> bool:
    if not term.get("matchExpressions") and not term.get("matchFields"):
        return False
    labels = labels_of(node)
    return all(_holds(one, labels) for one in term.get("matchExpressions") or ()) and all(
        _holds(one, {"metadata.name": name_of(node)}) for one in term.get("matchFields") or ()
    )


def _holds(one: Json, labels: Mapping[str, str]) -> bool:
    return _OPERATORS[one["operator"]](labels.get(one["key"]), one.get("values") or [])


_OPERATORS: dict[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda found, values: found in values,
    "NotIn": lambda found, values: found not in values,
    "Exists": lambda found, _: found is not None,
    "DoesNotExist": lambda found, _: found is None,
    "Gt": lambda found, values: found is not None and int(found) > int(values[0]),
    "Lt": lambda found, values: found is not None and int(found) < int(values[0]),
}
_RULES: tuple[tuple[str, Callable[[Json, Room], bool]], ...] = (
    (UNSCHEDULABLE, _is_open),
    (TAINTED, _is_tolerated),
    (AFFINITY, _is_selected),
)
