"""Jobs as the matrix hands them over, and clusters with one thing or another installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract import events
from trainyard.common.contract.jobfile import parse_yaml
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, Offers

EXAMPLE = Path(__file__).parents[4] / "examples" / "digits-pytorch"
IMAGE = "registry.example.com/pytorch@sha256:" + "a" * 64
ID = "01jdz6m3e8q2v4w6x8y0z2a4c6"
EVERYTHING: dict[str, Any] = {
    "namespace": "team-a",
    "service_account": "trainer",
    "image_pull_secrets": ["pull"],
    "labels": {"team": "a"},
    "annotations": {"note": "hello world"},
    "node_selector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "value": "yes", "effect": "NoExecute", "seconds": 60}, {"effect": "NoSchedule"}],
    "placement": "spread",
    "topology_key": "topology.kubernetes.io/zone",
    "shared_memory": "2Gi",
    "resources": {"rdma/hca": 1},
    "priority_class": "high",
    "volumes": [
        {"mount": "/data", "claim": "data", "sub_path": "digits", "read_only": True},
        {"mount": "/conf", "config_map": "conf"},
        {"mount": "/keys", "secret": "keys"},
        {"mount": "/scratch", "empty": "1Gi", "memory": True},
    ],
    "env_from": [{"secret": "s3"}, {"config_map": "proxy"}, {"secret": "s3", "key": "id", "name": "AWS_ID"}],
    "init": [{"name": "fetch", "image": "busybox:1", "command": ["true"], "env": {"A": "1"}}],
    "sidecars": [{"name": "metrics", "image": "exporter:1", "cpu": 0.2, "memory": "32Mi"}],
    "user": 2000,
}
BLOCKS: dict[str, dict[str, Any]] = {
    "restricted": EVERYTHING,
    "privileged": {**EVERYTHING, "placement": "pack", "security": "privileged", "host_network": True},
}
CLUSTERS = {
    "bare": Cluster(),
    "jobset": Cluster(offers=Offers(jobset=True)),
    "volcano": Cluster(offers=Offers(volcano=True)),
    "kueue": Cluster(offers=Offers(kueue=True, jobset=True), output_claim="results"),
}


def _shaped(framework: str, mode: str) -> dict[str, Any]:
    if framework == "mxnet":
        return {"framework": framework, "roles": {"scheduler": {}, "server": {}, "worker": {"replicas": 2}}}
    return {"framework": {"name": framework, "mode": mode}, "replicas": 2, "processes": 2}


def _templates(document: Any) -> Iterator[Any]:
    """The pod templates within an object, whatever kind it is."""
    if isinstance(document, dict):
        if "template" in document and "containers" in document["template"].get("spec", {}):
            yield document["template"]
        for value in document.values():
            yield from _templates(value)
    elif isinstance(document, list):
        for value in document:
            yield from _templates(value)


@pytest.fixture
def shaped() -> Callable[[str, str], dict[str, Any]]:
    """What of a spec makes a job of several pods of a framework and mode."""
    return _shaped


@pytest.fixture
def templates() -> Callable[[Any], Iterator[Any]]:
    return _templates


@pytest.fixture
def digits(resolved: Callable[..., Job]) -> Callable[..., Job]:
    """The example as the matrix hands it over, with changes."""

    def make(**changes: Any) -> Job:
        return resolved(**{**parse_yaml((EXAMPLE / "job.yaml").read_bytes()), **changes})

    return make


@pytest.fixture
def resolved(job: Callable[..., Job]) -> Callable[..., Job]:
    def make(attempt: int = 1, job_id: str = ID, **changes: Any) -> Job:
        made = job(attempt, **changes)
        resolution = events.Resolution(image="pytorch", reference=IMAGE)
        return replace(made, head=replace(made.head, job_id=job_id), resolution=resolution)

    return make


@pytest.fixture
def blocks() -> dict[str, dict[str, Any]]:
    return BLOCKS


@pytest.fixture
def clusters() -> dict[str, Cluster]:
    return CLUSTERS
