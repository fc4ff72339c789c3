"""Milliseconds of one resolution at the full fact table, the whole catalogue and 1,000 nodes of 24 sorts.

    python tests/bench/bench_matrix.py [rounds]

Prints JSON. `first` is a cold resolution of each job, `median` and `p99` those after it; the aim is below 1 ms. The nodes are
grouped once, when they change; that takes `grouping` and no part of a resolution.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

from packaging.version import Version

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.jobs import JobSpec
from trainyard.matrix.adapters.facts import shipped
from trainyard.matrix.core.hardware import Inventory, Node
from trainyard.matrix.core.images import BUILT_IN, Image
from trainyard.matrix.core.resolve import resolve

PRODUCTS = ("NVIDIA-A100-SXM4-80GB", "Tesla-V100-SXM2-32GB", "NVIDIA-L4", "H100-SXM", "Tesla-T4", "B200")
DRIVERS = ("535.54.03", "550.54.14", "570.26", "580.65.06")
CUDAS = ("11.8", "12.4", "12.6", "12.8", "13.0")
WISHES: dict[str, Any] = {
    "any gpu": ("pytorch", {"gpu": 4}),
    "a version": ("pytorch>=2.4,<2.12", {"gpu": 1}),
    "preferences": ("pytorch", {"any": ["h100", "a100-80g", "910b"]}),
    "refused": ("pytorch<2.7", "1(B200)"),
    "cpu": ("pytorch", 0),
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    facts = shipped()
    nodes = [Node(f"n{i}", PRODUCTS[i % 6], 8, DRIVERS[i // 6 % 4]) for i in range(1000)]
    began = time.perf_counter()
    inventory = Inventory.of(nodes, facts.hardware)
    grouping = time.perf_counter() - began
    images = [*BUILT_IN, *_images()]
    result: dict[str, Any] = {
        "facts": sum(map(len, facts.tables.values())), "images": len(images), "nodes": len(nodes),
        "sorts": len(inventory.classes), "grouping_ms": round(grouping * 1e3, 2),
    }  # fmt: skip
    for name, (framework, accelerators) in WISHES.items():
        spec = JobSpec.model_validate(
            {"name": "a", "framework": framework, "command": "true", "resources": {"accelerators": accelerators}}
        )
        times = []
        for _ in range(rounds):
            began = time.perf_counter()
            answer = resolve(spec, images, facts, inventory)
            times.append((time.perf_counter() - began) * 1e3)
        result[name] = {
            "fits": isinstance(answer, Resolution), "first": round(times[0], 3),
            "median": round(statistics.median(times), 3), "p99": round(statistics.quantiles(times, n=100)[98], 3),
        }  # fmt: skip
    print(json.dumps(result, indent=1))


def _images() -> list[Image]:
    return [
        Image(f"pytorch-2.{minor}-cu{cuda}", "pytorch", Version(f"2.{minor}.0"), ("gpu", "cpu"), "cuda", cuda)
        for minor in range(4, 15)
        for cuda in CUDAS
    ]


if __name__ == "__main__":
    main()
