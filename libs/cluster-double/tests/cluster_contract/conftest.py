"""`cluster` is the double and, where TRAINYARD_TEST_KUBECONFIG names one, a real control plane without kubelets.

Every test of this folder holds for both. Where they differ, the double is wrong. Each test has a namespace of its own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from trainyard.cluster_double.kubelet import NodeSpec, ScriptedKubelet
from trainyard.cluster_double.server import ClusterDouble, Settings
from trainyard.cluster_double.testing.api import Api, eventually

GIVEN = os.environ.get("TRAINYARD_TEST_KUBECONFIG", "")
NODES = (
    NodeSpec("contract-0"),
    NodeSpec("contract-1", more={"nvidia.com/gpu": "4"}, labels={"accelerator": "a100"}),
    NodeSpec("contract-2", taints=[{"key": "dedicated", "value": "train", "effect": "NoSchedule"}]),
)
# The pauses of a real cluster are minutes; the double's are given here, so that its tests take none.
QUICK = Settings(job_backoff_seconds=0.3, bookmark_seconds=1.0)


@dataclass(frozen=True)
class Cluster:
    api: Api
    kubeconfig: Path
    real: bool


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "cluster_contract" in item.path.parts:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session", params=["double", "real"] if GIVEN else ["double"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if request.param == "real":
        api = Api(Path(GIVEN))
        yield Cluster(api, Path(GIVEN), real=True)
        api.close()
        return
    with ClusterDouble(QUICK) as double:
        kubeconfig = double.kubeconfig(tmp_path_factory.mktemp("double"))
        api = Api(kubeconfig)
        yield Cluster(api, kubeconfig, real=False)
        api.close()


@pytest.fixture(scope="session")
def api(cluster: Cluster) -> Api:
    return cluster.api


@pytest.fixture
def ns(api: Api) -> Iterator[str]:
    """A fresh namespace; everything in it goes with it."""
    name = f"contract-{uuid.uuid4().hex[:8]}"
    api.made("/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def kubelet(cluster: Cluster) -> Iterator[ScriptedKubelet]:
    """Three nodes; pods without a script of their own end well at once."""
    with ScriptedKubelet(cluster.kubeconfig, NODES) as running:
        for node in NODES:
            # A new node is tainted until the control plane has seen that it is ready.
            eventually(lambda name=node.name: _is_open(cluster.api, name))
        yield running


def _is_open(api: Api, name: str) -> bool:
    taints = api.get(f"/api/v1/nodes/{name}").body.get("spec", {}).get("taints") or []
    return not any(taint["key"].startswith("node.kubernetes.io/") for taint in taints)


@pytest.fixture
def configs(ns: str) -> str:
    return f"/api/v1/namespaces/{ns}/configmaps"


@pytest.fixture
def pods(ns: str) -> str:
    return f"/api/v1/namespaces/{ns}/pods"


@pytest.fixture
def jobs(ns: str) -> str:
    return f"/apis/batch/v1/namespaces/{ns}/jobs"


@pytest.fixture
def important(api: Api) -> Iterator[str]:
    """A priority class above all others."""
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    name = f"contract-{uuid.uuid4().hex[:8]}"
    api.made(path, {"metadata": {"name": name}, "value": 1000})
    yield name
    api.delete(f"{path}/{name}")
