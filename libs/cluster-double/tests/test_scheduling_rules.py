"""Where a pod goes among given nodes, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from trainyard.cluster_double.core.objects import Json
from trainyard.cluster_double.core.quantities import amount, written
from trainyard.cluster_double.core.scheduling.filters import Room, tolerates
from trainyard.cluster_double.core.scheduling.place import NO_NODES, place
from trainyard.cluster_double.testing.manifests import a_pod, requests


def a_room(name: str, cpu: str = "4", *, labels: dict[str, str] | None = None, **spec: Any) -> Room:
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return Room(
        {"metadata": {"name": name, "labels": labels or {}}, "spec": spec, "status": {"allocatable": allocatable}}
    )


def filled(room: Room, *pods: Json) -> Room:
    for number, pod in enumerate(pods):
        room.add(f"{number}", pod)
    return room


def wanting(cpu: str, priority: int = 0, name: str = "p") -> Json:
    pod = a_pod(name, container=requests(cpu=cpu), priority=priority)
    pod["metadata"] |= {"namespace": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return pod


def test_the_emptier_node_is_taken() -> None:
    rooms = {"a": filled(a_room("a"), wanting("2")), "b": a_room("b")}
    assert place(wanting("1"), rooms).node == "b"


def test_without_nodes() -> None:
    assert place(wanting("1"), {}).message == NO_NODES


def test_reasons_are_counted_and_sorted() -> None:
    taint = {"key": "x", "effect": "NoSchedule"}
    rooms = {"a": a_room("a", "1"), "b": a_room("b", "1"), "c": a_room("c", taints=[taint])}
    assert place(wanting("2"), rooms).message == (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_room_comes_back() -> None:
    room = filled(a_room("a"), wanting("3"))
    assert not place(wanting("2"), {"a": room}).node
    room.take("0")
    assert place(wanting("2"), {"a": room}).node == "a"


def test_the_least_important_are_pushed_out() -> None:
    low, middle = wanting("2", 1, "low"), wanting("2", 5, "middle")
    placement = place(wanting("2", 10), {"a": filled(a_room("a"), low, middle)})
    assert [victim["metadata"]["name"] for victim in placement.victims] == ["low"]
    assert placement.nominated == "a"
    equal = place(wanting("2", 1), {"a": filled(a_room("a"), wanting("4", 1))})
    assert not equal.victims


def test_nobody_more_is_pushed_out_while_the_promised_room_is_made() -> None:
    going = wanting("4", 1)
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    going["status"] = {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}
    rooms = {"a": filled(a_room("a"), going), "b": filled(a_room("b"), wanting("4", 1))}
    urgent = wanting("2", 10)
    assert place(urgent, rooms).victims
    promised = place({**urgent, "status": {"nominatedNodeName": "a"}}, rooms)
    assert not promised.victims
    assert promised.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")


def test_a_pod_that_pushes_nobody() -> None:
    polite = wanting("2", 10)
    polite["spec"]["preemptionPolicy"] = "Never"
    placement = place(polite, {"a": filled(a_room("a"), wanting("4", 1))})
    assert placement.message.endswith("preemption: not eligible due to preemptionPolicy=Never.")


@pytest.mark.parametrize(
    ("toleration", "bears"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "a100"}, True),
        ({"key": "gpu", "value": "h100"}, False),
        ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "cpu", "operator": "Exists"}, False),
    ],
)
def test_tolerations(toleration: Json, bears: bool) -> None:
    assert tolerates(toleration, {"key": "gpu", "value": "a100", "effect": "NoSchedule"}) is bears


@pytest.mark.parametrize(
    ("text", "canonical"),
    [("0.5", "500m"), ("1024Mi", "1Gi"), ("1500m", "1500m"), ("2000m", "2"), ("1e3", "1k"), ("1G", "1G"), ("0", "0")],
)
def test_amounts(text: str, canonical: str) -> None:
    assert written(amount(text), text) == canonical


def test_an_amount_that_is_none() -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        amount("much")
