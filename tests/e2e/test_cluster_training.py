"""The digits example, as it stands in its folder, trains on a cluster: its pods are real processes that form a real group.

The API server is the double's, or the control plane of TRAINYARD_TEST_KUBECONFIG; the kubelet runs the containers in
mount namespaces of this machine, with the interpreter of the local image for the container's.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.cluster_double.kubelet.kubelet import ScriptedKubelet
from trainyard.cluster_double.kubelet.nodes import NodeSpec
from trainyard.cluster_double.kubelet.sandbox import Sandbox, unavailable
from trainyard.cluster_double.kubelet.script import Script
from trainyard.cluster_double.server import ClusterDouble
from trainyard.cluster_double.testing.api import Api
from trainyard.common.images import cache, catalogue, editing
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.e2e, pytest.mark.cluster, pytest.mark.timeout(400)]


@contextmanager
def claim(kubeconfig: Path, name: str) -> Iterator[None]:
    """A ReadWriteMany claim that is bound; what is mounted for it is the sandbox's."""
    common = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    volume = {**common, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/nowhere"}}
    wish = {**common, "volumeName": name, "resources": {"requests": {"storage": "1Gi"}}}
    objects = {
        "/api/v1/persistentvolumes": {"kind": "PersistentVolume", "spec": volume},
        "/api/v1/namespaces/default/persistentvolumeclaims": {"kind": "PersistentVolumeClaim", "spec": wish},
    }
    api = Api(kubeconfig)
    for path, document in objects.items():
        api.made(path, {"apiVersion": "v1", "metadata": {"name": name}, **document})
    yield
    for path in reversed(objects):
        api.delete(f"{path}/{name}")
    api.close()


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, make_yard: Callable[..., YardProcess], images: Path
) -> Iterator[tuple[YardProcess, Sandbox]]:
    why = unavailable()
    if why is not None:
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("training")
    catalogue_folder = folder / "images"
    shutil.copytree(ROOT / "deploy" / "images" / "pytorch-cpu", catalogue_folder / "pytorch-cpu")
    image = cache.ensure(catalogue.read(catalogue_folder, "pytorch-cpu"), images, lambda *_: None)
    editing.pin(catalogue_folder / "pytorch-cpu", f"registry.example.com/pytorch-cpu@sha256:{'a' * 64}")
    real = os.environ.get("TRAINYARD_TEST_KUBECONFIG")
    with ExitStack() as stack:
        sandbox = stack.enter_context(Sandbox(folder / "pods", image.python.parent))
        kubeconfig = Path(real) if real else stack.enter_context(ClusterDouble()).kubeconfig(folder)
        stack.enter_context(claim(kubeconfig, "results"))
        kubelet = stack.enter_context(ScriptedKubelet(kubeconfig, [NodeSpec("a"), NodeSpec("b")]))
        kubelet.plan(Script(really=sandbox))
        yard = make_yard(
            TRAINYARD_BACKEND="kubernetes",
            TRAINYARD_KUBECONFIG=str(kubeconfig),
            TRAINYARD_CATALOGUE=str(catalogue_folder),
            TRAINYARD_OUTPUT_CLAIM="results",
        )
        yield yard, sandbox
        yard.stop()


def test_the_example_trains_in_pods(trained: tuple[YardProcess, Sandbox]) -> None:
    yard, sandbox = trained
    document: dict[str, Any] = {**files.read(ROOT / "examples" / "digits-pytorch"), "replicas": 2, "processes": 1}
    del document["convert"]
    with Yard(yard.url) as gateway:
        job = gateway.wait(gateway.submit(document).job_id, timeout=120)
        said = [f"{line['rank']}: {line['text']}" for line in gateway.follow_logs(job.job_id)]
        assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *said[-40:]])
        assert job.spec is not None
        assert job.spec["source"].startswith("sha256:")
        assert job.progress is not None
        assert job.progress["metrics"]["accuracy"] >= 0.95
        told = {event.kind: event.data for event in gateway.events(job.job_id).events}
        assert [(end["rank"], end["exit_code"]) for end in told["succeeded"]["endings"]] == [(0, 0), (1, 0)]
        assert all(end["cpu_seconds"] > 1 for end in told["succeeded"]["endings"]), "both have trained"
    assert (sandbox.claim("results") / job.job_id / "output" / "model.pt").stat().st_size > 1000
