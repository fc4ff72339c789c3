"""Row 32 of the list of faults reported elsewhere: a TrainingJob that another controller runs is left alone."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from trainyard.common.contract import crd
from trainyard.common.testing.eventually import eventually
from trainyard.launcher.core.cluster.resource import job_file, read

pytestmark = pytest.mark.integration
PATH = "/apis/trainyard.dev/v1alpha1/namespaces/default/trainingjobs"


def document(name: str, **spec: str) -> dict[str, Any]:
    return {
        "apiVersion": "trainyard.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name, "namespace": "default"},
        "spec": {"framework": "generic", "command": ["python", "-c", "1"], **spec},
    }  # fmt: skip


def served(cluster: Any) -> bool:
    try:
        return "items" in cluster.call("GET", PATH)
    except httpx.HTTPStatusError:
        return False


async def test_32_a_resource_that_another_controller_runs_is_left_alone(cluster: Any) -> None:
    cluster.apply(crd.document())
    await eventually(lambda: served(cluster))
    await cluster.kill()
    await cluster.start()  # a launcher looks for the kind when it starts
    cluster.apply(document("theirs", managedBy="kueue.x-k8s.io/multikueue"))
    cluster.apply(document("ours", managedBy=crd.MANAGER))

    def held(name: str) -> bool:
        return bool(cluster.call("GET", f"{PATH}/{name}")["metadata"].get("finalizers"))

    await eventually(lambda: held("ours"))
    await asyncio.sleep(1.0)
    assert not held("theirs")
    assert "status" not in cluster.call("GET", f"{PATH}/theirs")
    cluster.remove("TrainingJob", "theirs")
    cluster.call("PATCH", f"{PATH}/ours", {"metadata": {"finalizers": []}}, "application/merge-patch+json")
    cluster.remove("TrainingJob", "ours")


def test_who_runs_it_is_no_part_of_the_job() -> None:
    made = document("ours", managedBy=crd.MANAGER)
    made["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    assert "managedBy" not in job_file(read(made))
