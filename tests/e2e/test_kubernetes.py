"""A yard over a cluster: the same job file over HTTP and as a TrainingJob; the API server is the double's."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from trainyard.client.sdk import Yard
from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.kubelet.script import forever, run
from trainyard.cluster_double.server import ClusterDouble
from trainyard.common.contract import crd
from trainyard.common.images import editing
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]
CATALOGUE = Path(__file__).resolve().parents[2] / "deploy" / "images"
JOBS = "/apis/trainyard.dev/v1alpha1/namespaces/default/trainingjobs"
A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/cuda.driver-version.full": "580.65.06"}
SPEC: dict[str, Any] = {
    "framework": "pytorch",
    "command": ["python", "train.py"],
    "replicas": 2,
    "timeouts": {"grace": 1},
}


@pytest.fixture(scope="module")
def cluster(
    tmp_path_factory: pytest.TempPathFactory, make_yard: Callable[..., YardProcess]
) -> Iterator[tuple[ClusterDouble, ScriptedKubelet, YardProcess]]:
    folder = tmp_path_factory.mktemp("cluster")
    images = folder / "images"
    for name in ("pytorch-cpu", "pytorch-cu130-flash"):
        shutil.copytree(CATALOGUE / name, images / name)
        editing.pin(images / name, f"registry.example.com/{name}@sha256:{'a' * 64}")
    with ClusterDouble() as double:
        kubeconfig = double.kubeconfig(folder)
        nodes = [NodeSpec("cpu-0"), NodeSpec("gpu-0", more={"nvidia.com/gpu": "8"}, labels=A100)]
        with ScriptedKubelet(kubeconfig, nodes) as kubelet:
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            httpx.post(f"{double.url}{path}", json=crd.document()).raise_for_status()
            yard = make_yard(
                TRAINYARD_BACKEND="kubernetes", TRAINYARD_KUBECONFIG=str(kubeconfig), TRAINYARD_CATALOGUE=str(images)
            )
            yield double, kubelet, yard
            yard.stop()


def test_a_job_over_http_becomes_pods(cluster: Any) -> None:
    _, kubelet, yard = cluster
    kubelet.plan(run(0.5, lines=["epoch 1"]))
    with Yard(yard.url) as gateway:
        job = gateway.wait(gateway.submit({"name": "digits", **SPEC}).job_id, timeout=60)
        assert job.state is State.SUCCEEDED, job.message
        assert (job.resolution or {})["reference"].startswith("registry.example.com/pytorch-cpu@sha256:")
        lines = [line["text"] for line in gateway.follow_logs(job.job_id)]
    assert lines == ["epoch 1", "epoch 1"]


def test_the_nodes_of_the_cluster_decide_what_fits(cluster: Any) -> None:
    _, _, yard = cluster
    assert {"cpu-0", "gpu-0"} <= set(yard.yard("nodes").stdout.split())
    with Yard(yard.url) as gateway:
        wish = {"name": "wish", **SPEC, "resources": {"accelerators": "1(A100)"}}
        assert (gateway.explain(wish).resolution or {})["image"] == "pytorch-cu130-flash"
        refused = gateway.explain({**wish, "resources": {"accelerators": "1(V100)"}})
        assert refused.message == "no node here has v100; there are: a100"


def test_jobs_keep_away_from_a_node_for_as_long_as_somebody_says(cluster: Any) -> None:
    _, kubelet, yard = cluster
    kubelet.plan(run(0.2))
    assert "its fans" in yard.yard("nodes", "avoid", "cpu-0", "--for", "2h", "--why", "its fans").stdout
    shown = wait_for(lambda: [line for line in yard.yard("nodes").stdout.splitlines() if "avoided until" in line])
    assert [line.split()[0] for line in shown] == ["cpu-0"]
    with Yard(yard.url) as gateway:
        job = gateway.wait(gateway.submit({"name": "away", **SPEC}).job_id, timeout=60)
        events = gateway.http.get(f"/v1/jobs/{job.job_id}/events").json()["events"]
        began = next(event for event in events if event["kind"] == "running")
        assert {rank["node"] for rank in began["data"]["ranks"]} == {"gpu-0"}
    assert "jobs may begin there again" in yard.yard("nodes", "forgive", "cpu-0").stdout
    wait_for(lambda: "avoided until" not in yard.yard("nodes").stdout)


def test_an_applied_resource_is_a_job_of_the_yard(cluster: Any) -> None:
    double, kubelet, yard = cluster
    kubelet.plan(forever())
    resource = {
        "apiVersion": "trainyard.dev/v1alpha1",
        "kind": "TrainingJob",
        "metadata": {"name": "applied", "namespace": "default"},
        "spec": SPEC,
    }
    httpx.post(f"{double.url}{JOBS}", json=resource).raise_for_status()
    with Yard(yard.url) as gateway:
        [job] = wait_for(
            lambda: [job for job in gateway.jobs().jobs if job.name == "applied" and job.state == "running"]
        )
        assert job.owner == "kubernetes/default"
        status = wait_for(lambda: httpx.get(f"{double.url}{JOBS}/applied").json().get("status"))
        assert status["jobId"] == job.job_id
        httpx.delete(f"{double.url}{JOBS}/applied").raise_for_status()
        assert gateway.wait(job.job_id, timeout=60).state is State.CANCELLED


def wait_for(look: Callable[[], Any], within: float = 60.0) -> Any:
    import time  # noqa: PLC0415

    deadline = time.monotonic() + within
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)
    return found
