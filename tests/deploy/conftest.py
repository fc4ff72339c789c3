"""The chart as Helm renders it: the real Helm, as a library. Nothing is fetched; NATS' own chart is a stand-in."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import helm_python
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "trainyard"
Document = dict[str, Any]
Render = Callable[..., list[Document]]
PIN = f"registry.example.com/pytorch-cpu@sha256:{'a' * 64}"

EVERYTHING: Document = {
    "images": {"pytorch-cpu": PIN},
    "templateLimits": {"site": {"cpu": 8}},
    "launcher": {"replicas": 3, "namespaces": ["trainyard-jobs", "team-a"]},
    "jobApi": {
        "replicas": 2,
        "nodeSelector": {"a": "b"},
        "extraEnv": [{"name": "TRAINYARD_LOG_FORMAT", "value": "json"}],
    },
    "common": {
        "priorityClassName": "system-cluster-critical",
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "extraEgress": [{"ports": [{"port": 4318}]}],
    },
    "converter": {"tritonUrl": "triton:8001"},
    "persistence": {"outputs": {"converterClaim": "outputs-here"}},
    "imagePullSecrets": [{"name": "pull"}],
    "otlpEndpoint": "http://collector:4318",
    "serviceMonitor": {"enabled": True},
    "dashboards": {"enabled": True},
    "networkPolicy": {"metricsFrom": [{"namespaceSelector": {}}]},
    "ingress": {"enabled": True, "apiHost": "api.example.com", "panelHost": "panel.example.com", "tlsSecret": "tls"},
}
CASES: dict[str, Document] = {
    "default": {},
    "everything": EVERYTHING,
    "own-nats": {"nats": {"enabled": False}, "natsUrl": "nats://nats.example.com:4222", "natsUser": ""},
    "one-node": {"persistence": {"logs": {"accessMode": "ReadWriteOnce"}, "models": {"enabled": False}}},
    "one-namespace": {"jobs": {"namespace": ""}, "networkPolicy": {"enabled": False}, "crds": {"install": False}},
}


@pytest.fixture(scope="session")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("chart") / "trainyard"
    shutil.copytree(CHART, copy, ignore=shutil.ignore_patterns("charts"))
    wanted = yaml.safe_load((CHART / "Chart.yaml").read_text())["dependencies"][0]
    nats = copy / "charts" / "nats"
    nats.mkdir(parents=True)
    (nats / "Chart.yaml").write_text(f"apiVersion: v2\nname: nats\nversion: {wanted['version']}\n")
    return copy


@pytest.fixture(scope="session")
def render(chart: Path) -> Render:
    def documents(values: Document | None = None, release: str = "trainyard", namespace: str = "trainyard") -> Any:
        with helm_python.Chart.load(chart) as loaded:
            made = loaded.render(values or {}, name=release, namespace=namespace)
        texts = [text for path, text in sorted(made.items()) if path.endswith(".yaml")]
        return [document for text in texts for document in yaml.safe_load_all(text) if document]

    return documents


@pytest.fixture(scope="session", params=CASES)
def documents(request: pytest.FixtureRequest, render: Render) -> list[Document]:
    return render(CASES[request.param])


def of_kind(documents: list[Document], kind: str) -> dict[str, Document]:
    return {item["metadata"]["name"]: item for item in documents if item["kind"] == kind}
