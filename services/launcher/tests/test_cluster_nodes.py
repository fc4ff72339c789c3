"""Nodes of a cluster, and which launcher tends which job."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from trainyard.launcher.core.cluster import sharing
from trainyard.launcher.core.cluster.nodes import quantity, read


def node(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "gpu-1", "labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}},
        "spec": spec,
        "status": {
            "nodeInfo": {"architecture": "arm64"},
            "allocatable": {"cpu": "63500m", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8", "rdma/hca": "2"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def test_a_node_tells_what_it_has_for_jobs() -> None:
    found = read(node())
    assert (found.machine, found.cpu, found.memory) == ("aarch64", 63.5, 512 * 2**30)
    assert found.resources == {"nvidia.com/gpu": 8, "rdma/hca": 2}
    assert found.fault is None


def test_why_nothing_is_placed_there() -> None:
    assert read(node(unschedulable=True)).fault == "closed for new pods (cordoned)"
    down = node()
    down["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]
    assert read(down).fault == "not ready: Kubelet stopped posting node status."


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("4", 4),
        ("1500m", 1.5),
        ("16Gi", 16 * 2**30),
        ("1k", 1000),
        ("2e3", 2000),
        ("100n", 1e-7),
        ("odd", 0),
        (None, 0),
    ],
)
def test_quantities(text: str | None, number: float) -> None:
    assert quantity(text) == pytest.approx(number)


def test_members_share_jobs_evenly_and_agree() -> None:
    jobs = [f"job-{number}" for number in range(3000)]
    counted = Counter(sharing.owner(job, ["a", "b", "c"]) for job in jobs)
    assert all(800 < count < 1200 for count in counted.values())
    assert [sharing.owner(job, ["c", "a", "b"]) for job in jobs] == [
        sharing.owner(job, ["a", "b", "c"]) for job in jobs
    ]


def test_only_the_jobs_of_a_member_that_left_move() -> None:
    for job in (f"job-{number}" for number in range(500)):
        before = sharing.owner(job, ["a", "b", "c"])
        if before != "c":
            assert sharing.owner(job, ["a", "b"]) == before


def test_with_nobody_there_is_no_owner() -> None:
    assert sharing.owner("j", []) is None
    assert sharing.first(["b", "a"]) == "a"
