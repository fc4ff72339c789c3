"""Milliseconds of one resolution at the full fact table, a catalogue of 57 images and 1,000 nodes of 24 sorts.

    python tests/bench/bench_matrix.py [rounds]

Prints JSON. The aim is below 1 ms, so every figure has beside it how often that held (`below_1ms`, 1.0 is always).

- `start`: what is done once: reading the facts and indexing the catalogue; `first` is the process's very first resolution.
- `nodes`: grouping all nodes, and what one node costs that comes or goes.
- `cold`: each resolution meets a set of nodes that was never seen, with drivers that were never seen; `warm`: the same nodes
  again and again. Of each `wall`, what a clock on the wall shows; `undisturbed`, those rounds in which the kernel gave the
  core to nobody else; `cpu`, the time that the thread itself ran. The last two are what a busy machine does not touch.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from itertools import count, islice, repeat
from typing import Any, TypeVar

from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.catalogue import Catalogue
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.core.inventory import Inventory, Node
from trainyard.matrix.core.resolve import resolve

T = TypeVar("T")
PRODUCTS = ("NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-32GB", "NVIDIA-L4", "H100-SXM", "Tesla-T4", "B200")
DRIVERS = ("535.54", "550.54", "570.26", "580.65")
CUDAS = ("11.8", "12.4", "12.6", "12.8", "13.0")
NODES = 1000
WISHES: dict[str, Any] = {
    "any gpu": ("pytorch", {"gpu": 4}),
    "a version": ("pytorch>=2.4,<2.12", {"gpu": 1}),
    "preferences": ("pytorch", {"any": ["h100", "a100-80g", "910b"]}),
    "a feature": ({"name": "pytorch", "features": ["bf16"]}, {"gpu": 1}),
    "refused": ("pytorch<2.7", "1(B200)"),
    "cpu": ("pytorch", 0),
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    facts, reading = timed(shipped)
    images = [*BUILT_IN, *_images()]
    catalogue, indexing = timed(lambda: Catalogue.of(images, facts))
    inventory, grouping = timed(lambda: Inventory.of(_nodes(0), facts.hardware))
    gc.freeze()  # as a service does once it is built
    specs = {name: _spec(*wish) for name, wish in WISHES.items()}
    _, first = timed(lambda: resolve(specs["any gpu"], catalogue, inventory))
    result: dict[str, Any] = {
        "facts": sum(map(len, facts.tables.values())), "images": len(images), "sorts": len(inventory.classes),
        "start": {"facts_ms": _ms(reading), "index_ms": _ms(indexing), "first_ms": _ms(first)},
        "nodes": {"nodes": NODES, "grouping_ms": _ms(grouping), "one": _change(inventory, catalogue, rounds)},
    }  # fmt: skip
    seen = count(1)
    unseen = (Inventory.of(_nodes(number), facts.hardware) for number in seen)
    for name, spec in specs.items():
        result[name] = {
            "fits": isinstance(resolve(spec, catalogue, inventory), Resolution),
            "cold": _measured(spec, catalogue, islice(unseen, max(rounds // 10, 50))),
            "warm": _measured(spec, catalogue, repeat(inventory, rounds)),
        }
    print(json.dumps(result, indent=1))


def _measured(spec: JobSpec, catalogue: Catalogue, inventories: Iterable[Inventory]) -> dict[str, Any]:
    wall, cpu, undisturbed = [], [], []
    for inventory in inventories:
        switches, began, ran = _switches(), time.perf_counter(), time.thread_time()
        resolve(spec, catalogue, inventory)
        cpu.append((time.thread_time() - ran) * 1e3)
        wall.append((time.perf_counter() - began) * 1e3)
        if _switches() == switches:
            undisturbed.append(wall[-1])
    return {"wall": _figures(wall), "undisturbed": _figures(undisturbed), "cpu": _figures(cpu)}


def _switches() -> int:
    """How often another process was given the core of this thread."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw


def timed(call: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    return call(), (time.perf_counter() - began) * 1e3


def _change(inventory: Inventory, catalogue: Catalogue, rounds: int) -> dict[str, float]:
    node, hardware = _nodes(0)[0], catalogue.facts.hardware
    moved = Node(node.name, node.product, node.count - 1, node.driver)
    return _figures([timed(lambda: inventory.changed(hardware, went=[node], came=[moved]))[1] for _ in range(rounds)])


def _figures(times: list[float]) -> dict[str, float]:
    return {
        "median": _ms(statistics.median(times)),
        "p99": _ms(statistics.quantiles(times, n=100)[98]),
        "max": _ms(max(times)),
        "rounds": len(times),
        "below_1ms": round(sum(each < 1 for each in times) / len(times), 4),
    }


def _ms(value: float) -> float:
    return round(value, 3)


def _nodes(number: int) -> list[Node]:
    """`number` makes drivers that no other number has."""
    return [Node(f"n{i}", PRODUCTS[i % 6], 8, f"{DRIVERS[i // 6 % 4]}.{number}") for i in range(NODES)]


def _spec(framework: Any, accelerators: Any) -> JobSpec:
    return JobSpec.model_validate(
        {"name": "a", "framework": framework, "command": "true", "resources": {"accelerators": accelerators}}
    )


def _images() -> list[Image]:
    return [
        Image(f"pytorch-2.{minor}-cu{cuda}", "pytorch", Version(f"2.{minor}.0"), ("gpu", "cpu"), "cuda", cuda)
        for minor in range(4, 15)
        for cuda in CUDAS
    ]


if __name__ == "__main__":
    main()
