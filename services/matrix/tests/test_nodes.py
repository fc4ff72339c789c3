"""The inventory as the matrix sees it: followed, whole, and forgotten when a machine falls silent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio

from trainyard.common.bus.keyvalue import Changes, Entry, KeyValue
from trainyard.common.bus.memory import MemoryBus
from trainyard.common.contract.commands import ResolveJob
from trainyard.common.contract.inventory import BUCKET, Node, NodeAccelerators
from trainyard.common.testing.clock import ManualClock
from trainyard.common.testing.eventually import eventually
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.adapters.nodes import BucketNodes
from trainyard.matrix.app import MatrixService
from trainyard.matrix.settings import Settings


def node(name: str, *products: str, expires_at: float | None = None) -> Node:
    groups = tuple(NodeAccelerators(product=product, count=8, driver="580.65.06") for product in products)
    return Node(name=name, backend="kubernetes", accelerators=groups, expires_at=expires_at)


class World:
    def __init__(self, bucket: KeyValue) -> None:
        self.bucket, self.clock = bucket, ManualClock()
        self.nodes = BucketNodes(bucket, shipped().hardware, self.clock)

    async def put(self, *nodes: Node) -> None:
        for made in nodes:
            await self.bucket.put(made.key, made.dump())

    def families(self) -> dict[str, int]:
        return {sort.product.family: sort.nodes for sort in self.nodes.inventory().classes}


@pytest_asyncio.fixture
async def world(memory_bus: MemoryBus) -> AsyncIterator[World]:
    made = World(await memory_bus.keyvalue(BUCKET))
    await made.nodes.load()
    following = asyncio.create_task(made.nodes.follow())
    yield made
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_nodes_come_change_and_go(world: World) -> None:
    assert not world.nodes.inventory().complete
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB"), node("b", "NVIDIA-A100-SXM4-80GB"), node("c"))
    await eventually(lambda: world.families() == {"a100": 2})
    assert world.nodes.inventory().complete
    await world.put(node("b", "Tesla-V100-SXM2-16GB"))
    await eventually(lambda: world.families() == {"a100": 1, "v100": 1})
    await world.bucket.delete(node("a").key)
    await eventually(lambda: world.families() == {"v100": 1})


async def test_the_same_told_again_costs_nothing(world: World) -> None:
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1600))
    await eventually(lambda: world.families() == {"a100": 1})
    before = world.nodes.inventory()
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1660), node("b"))
    await world.bucket.delete(node("b").key)
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1720))
    assert world.nodes.inventory() is before


async def test_a_silent_machine_is_forgotten(world: World) -> None:
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1600))
    await eventually(lambda: world.families() == {"a100": 1})
    world.clock.at = 1601
    assert world.families() == {}
    assert not world.nodes.inventory().complete


async def test_one_that_speaks_again_is_there_again(world: World) -> None:
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1600), node("b", "NVIDIA-L4"))
    await eventually(lambda: world.families() == {"a100": 1, "l4": 1})
    world.clock.at = 1601
    assert world.families() == {"l4": 1}
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1700))
    await eventually(lambda: world.families() == {"l4": 1, "a100": 1})


async def test_one_that_speaks_in_time_is_not_forgotten(world: World) -> None:
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1600))
    await eventually(lambda: world.families() == {"a100": 1})
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB", expires_at=1700))
    await eventually(lambda: world.nodes._known[node("a").key].expires_at == 1700)
    world.clock.at = 1601
    assert world.families() == {"a100": 1}


async def test_a_part_of_the_cluster_is_not_taken_for_all_of_it(world: World) -> None:
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB"))
    await eventually(lambda: world.families() == {"a100": 1})
    first, second = node("b", "Tesla-V100-SXM2-16GB"), node("c", "NVIDIA-L4")
    world.nodes._learn(Changes((Entry(first.key, first.dump(), 7),), caught_up=False, anew=True))
    assert world.families() == {"a100": 1}
    world.nodes._learn(Changes((Entry(second.key, second.dump(), 8),), caught_up=True, anew=True))
    assert world.families() == {"v100": 1, "l4": 1}


async def test_what_cannot_be_read_or_is_not_in_the_registry_refuses_nothing(world: World) -> None:
    await world.bucket.put("kubernetes.odd", b"{")
    await world.put(node("a", "Some-New-Chip"))
    await eventually(lambda: len(world.nodes._known) == 1)
    assert not world.nodes.inventory().complete


async def test_a_node_that_tells_nonsense_costs_nobody_else(world: World) -> None:
    odd = NodeAccelerators(product="NVIDIA-L4", count=1, driver="[Unknown Error]")
    none = NodeAccelerators(product="NVIDIA-A10", count=-3)
    await world.put(Node(name="odd", backend="kubernetes", accelerators=(odd, none)))
    await world.put(node("a", "NVIDIA-A100-SXM4-80GB"))
    await eventually(lambda: world.families() == {"l4": 1, "a100": 1})
    assert {sort.driver is None for sort in world.nodes.inventory().classes if sort.product.family == "l4"} == {True}


async def test_the_service_answers_by_what_there_is(memory_bus: MemoryBus) -> None:
    bucket = await memory_bus.keyvalue(BUCKET)
    await bucket.put(node("cpu").key, node("cpu").dump())
    service = MatrixService(Settings.from_env({}), memory_bus)
    await service.start()
    asked = {"name": "a", "framework": "pytorch", "command": "true", "resources": {"accelerators": "1(A100)"}}
    here = await memory_bus.request(ResolveJob(spec=asked))
    anywhere = await memory_bus.request(ResolveJob(spec=asked, anywhere=True))
    await service.close()
    assert here.body["message"] == "no node here has a100; there are: no accelerators"
    assert anywhere.body["fits"] is True


async def test_a_cluster_says_what_its_nodes_are_by_labels(world: World) -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/cuda.driver-version.full": "580.65.06"}
    known = Node(name="a", backend="kubernetes", resources={"nvidia.com/gpu": 8, "rdma/hca": 1}, labels=labels)
    await world.put(known)
    await eventually(lambda: world.families() == {"a100": 1})
    [sort] = world.nodes.inventory().classes
    assert (str(sort.driver), sort.count, world.nodes.inventory().complete) == ("580.65.06", 8, True)
    await world.put(Node(name="b", backend="kubernetes", resources={"nvidia.com/gpu": 8}))
    await eventually(lambda: not world.nodes.inventory().complete)
