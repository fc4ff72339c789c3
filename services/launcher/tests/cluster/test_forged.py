"""Whoever may make a pod can label it as a job's: what a job's launcher goes by is where it is and who owns it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from trainyard.cluster_double.kubelet.script import forever
from trainyard.common.logs.reader import LogStore
from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration
PODS = "/api/v1/namespaces/{}/pods"
MAPS = "/api/v1/namespaces/{}/configmaps"
JOBS = "/apis/batch/v1/namespaces/{}/jobs"


async def running(cluster: Any) -> str:
    cluster.kubelet.plan(forever())
    job: str = await cluster.submit(timeouts={"grace": 1})
    await cluster.until(job, "running")
    return job


def forge(cluster: Any, path: str, namespace: str, like: Any, name: str) -> str:
    """Another one with the labels of a real one, and nobody's."""
    metadata = like["metadata"]
    marks = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    body = {**like, "metadata": {"name": name, "namespace": namespace, **marks}}
    body.pop("status", None)
    body.get("spec", {}).pop("nodeName", None)
    cluster.call("POST", path.format(namespace), body)
    return name


@pytest.fixture
def other(cluster: Any) -> str:
    """Somebody else's namespace."""
    if cluster.double is None:
        pytest.skip("a real control plane lets nobody set the labels of a Job's pods as they are here")
    cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    return "other"


@pytest.mark.parametrize("with_root", [False, True], ids=["alone", "with a root of its own"])
async def test_a_pod_of_another_namespace_is_not_the_jobs(cluster: Any, other: str, with_root: bool) -> None:
    job = await running(cluster)
    [pod] = cluster.items(PODS.format("default"), job)
    if with_root:
        [root] = cluster.items(MAPS.format("default"), job)
        forge(cluster, MAPS, other, root, root["metadata"]["name"])
    name = forge(cluster, PODS, other, pod, pod["metadata"]["name"])
    await _runs(cluster, other, name)
    await _changes_nothing(cluster, job, other, name)


async def test_a_pod_that_no_controller_made_is_not_the_jobs(cluster: Any, other: str) -> None:
    del other
    job = await running(cluster)
    [pod] = cluster.items(PODS.format("default"), job)
    name = forge(cluster, PODS, "default", pod, "forged")
    await _runs(cluster, "default", name)
    await _changes_nothing(cluster, job, "default", name)


async def test_a_job_that_the_root_does_not_own_is_left_alone(cluster: Any, other: str) -> None:
    del other
    job = await running(cluster)
    [maker] = cluster.items(JOBS.format("default"), job)
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    plain = {**maker, "spec": {"suspend": True, "template": template}}
    forge(cluster, JOBS, "default", plain, "forged")
    await asyncio.sleep(0.5)
    await cluster.cancel(job)
    await cluster.until(job, "cancelled")
    await eventually(lambda: [name for kind, name in cluster.objects(job) if kind == "Job"] == ["forged"])


async def _runs(cluster: Any, namespace: str, name: str) -> None:
    await eventually(
        lambda: cluster.call("GET", f"{PODS.format(namespace)}/{name}")["status"].get("phase") == "Running"
    )


async def _changes_nothing(cluster: Any, job: str, namespace: str, name: str) -> None:
    cluster.kubelet.write(namespace, name, "forged")
    cluster.kubelet.finish(namespace, name, 3)
    await asyncio.sleep(2.0)
    assert (await cluster.kinds(job))[-1] == "running"
    [real] = [item for item in cluster.running(job) if (namespace, item) != ("default", name)]
    cluster.kubelet.write("default", real, "real")
    cluster.kubelet.finish("default", real)
    event = await cluster.until(job, "succeeded", "failed", "lost", "restarting")
    assert (event.kind, event.attempt) == ("succeeded", 1)
    store = LogStore(cluster.state / "a" / "logs")
    await eventually(lambda: store.last_lines(job, 1, 0, 99) == ("real",))
