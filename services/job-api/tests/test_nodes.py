"""Nodes over HTTP and NATS: what is shown, and that jobs keep away from one for as long as somebody says."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError

from trainyard.common.bus.port import Request
from trainyard.common.contract.commands import AvoidNode, ForgiveNode
from trainyard.common.contract.inventory import BUCKET, Node
from trainyard.common.contract.nodes import BY_ITSELF, NodeAvoided, NodeForgiven
from trainyard.common.errors import StaleSequence
from trainyard.job_api.nodes import on_avoid


@pytest.fixture
async def nodes(world: Any) -> None:
    bucket = await world.bus.keyvalue(BUCKET)
    for node in (
        Node(name="gpu-0.example", backend="kubernetes", uid="u0", boot="b0"),
        Node(name="gpu-1.example", backend="kubernetes", uid="u1"),
        Node(name="laptop", backend="local"),
    ):
        await bucket.put(node.key, node.dump())


async def said(world: Any, node: str) -> list[Any]:
    return [item async for item in world.bus.history("node", node)]


@pytest.mark.usefixtures("nodes")
async def test_a_node_is_avoided_and_forgiven(world: Any) -> None:
    before = time.time()
    answer = await world.http.post("/v1/nodes/gpu-0.example/avoid", params={"for": "2h", "message": "its fans"})
    assert answer.status_code == 202, answer.text
    shown = answer.json()
    assert (shown["name"], shown["avoided_for"]) == ("gpu-0.example", "ann: its fans")
    assert shown["avoided_until"] == pytest.approx(before + 7200, abs=30)
    again = await world.http.post("/v1/nodes/gpu-0.example/avoid", params={"for": "7d"})
    assert (again.status_code, again.json()["avoided_for"]) == (202, "ann")
    forgiven = await world.http.post("/v1/nodes/gpu-0.example/forgive", params={"message": "new fans"})
    assert forgiven.status_code == 202
    assert "avoided_until" not in forgiven.json()
    told = await said(world, "gpu-0.example")
    assert [(item.event.kind, item.event.by, item.event.message) for item in told] == [
        ("avoided", "ann", "its fans"),
        ("avoided", "ann", ""),
        ("forgiven", "ann", "new fans"),
    ]
    assert [item.event.number for item in told] == [0, told[0].seq, told[1].seq]
    assert {(item.event.node, item.event.uid, item.event.boot) for item in told} == {("gpu-0.example", "u0", "b0")}


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("path", "params", "status", "says"),
    [
        ("gpu-0.exampel/avoid", {}, 404, "there is no node 'gpu-0.exampel' (did you mean 'gpu-0.example'?)"),
        ("nowhere/forgive", {}, 404, "known here: gpu-0.example, gpu-1.example, laptop"),
        ("laptop/avoid", {}, 409, "laptop is a machine of its own: its jobs have nowhere else to go"),
        ("gpu-0.example/avoid", {"for": "soon"}, 422, "a duration is a number of seconds or text such as 90s"),
        ("gpu-0.example/avoid", {"for": "1s"}, 422, "a node is avoided for 1 m 0 s to 30 d 0 h, not for 1.0 s"),
        ("gpu-0.example/avoid", {"for": "31d"}, 422, "not for 31 d 0 h"),
        ("gpu-0.example/avoid", {"message": "x" * 501}, 422, "at most 500"),
    ],
)
async def test_what_cannot_be(world: Any, path: str, params: dict[str, str], status: int, says: str) -> None:
    answer = await world.http.post(f"/v1/nodes/{path}", params=params)
    assert answer.status_code == status
    assert says in answer.text
    assert await said(world, "gpu-0.example") == []


@pytest.mark.usefixtures("nodes")
async def test_over_nats(world: Any) -> None:
    answer = await world.bus.request(AvoidNode(node="gpu-1.example", seconds=600, message="m"))
    assert (answer.status, answer.body["name"]) == (202, "gpu-1.example")
    assert (await world.bus.request(ForgiveNode(node="gpu-1.example"))).status == 202
    assert (await world.bus.request(AvoidNode(node="gpu-2.example"))).status == 404
    assert (await world.bus.request(AvoidNode(node="gpu-1.example", message="x" * 501))).status == 422
    assert [item.event.kind for item in await said(world, "gpu-1.example")] == ["avoided", "forgiven"]


async def test_of_two_at_once_nobody_is_passed_over(world: Any) -> None:
    """Both read the log before either has written: the second is told, and reads again."""
    first = NodeAvoided(node="gpu-0.example", number=0, by="ann", seconds=7200, until=7200.0)
    seq = await world.bus.append(first, after=0)
    for other in (
        first.model_copy(update={"seconds": 86_400.0}),
        first.model_copy(update={"by": "bob"}),
        NodeForgiven(node="gpu-0.example", number=0, by="bob"),
    ):
        with pytest.raises(StaleSequence):
            await world.bus.append(other, after=0)
    assert await world.bus.append(first, after=0) == seq


@pytest.mark.usefixtures("nodes")
async def test_who_bears_the_launchers_name_speaks_as_somebody_all_the_same(world: Any) -> None:
    command = AvoidNode(node="gpu-1.example", seconds=600)
    await on_avoid(world.api._gateway, Request(command, "1", BY_ITSELF), command)
    assert [item.event.by for item in await said(world, "gpu-1.example")] == [f"user/{BY_ITSELF}"]


@pytest.mark.parametrize("seconds", [float("inf"), float("nan")])
def test_a_span_has_an_end(seconds: float) -> None:
    with pytest.raises(ValidationError):
        AvoidNode(node="gpu-1.example", seconds=seconds)
