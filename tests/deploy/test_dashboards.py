"""A dashboard shows what is exposed: every metric that it names is one that a service has."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.deploy.conftest import CHART, EVERYTHING, Render, of_kind

from trainyard.common.runtime import metrics
from trainyard.monitor.adapters.metrics import FleetCollector
from trainyard.monitor.core.fleet import Fleet

FILES = sorted((CHART / "files" / "dashboards").glob("*.json"))
METRIC = re.compile(r"\btrainyard_[a-z_]+")


def exposed() -> set[str]:
    """As Prometheus names them."""
    assert metrics.UP
    suffixes = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
    families = [*REGISTRY.collect(), *FleetCollector(Fleet()).collect()]
    return {family.name + end for family in families for end in suffixes.get(family.type, ())}


def expressions(board: Any) -> Iterator[str]:
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel["targets"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_metric_is_exposed(file: Any) -> None:
    named = {name for expression in expressions(json.loads(file.read_text())) for name in METRIC.findall(expression)}
    assert named
    assert named <= exposed()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_panels_have_a_place_of_their_own(file: Any) -> None:
    board = json.loads(file.read_text())
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in board["panels"]]
    assert len(places) == len(set(places))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_the_sidecar_finds_them(render: Render) -> None:
    maps = [
        item
        for item in of_kind(render(EVERYTHING), "ConfigMap").values()
        if "grafana_dashboard" in item["metadata"]["labels"]
    ]
    texts = [text for item in maps for text in item["data"].values()]
    assert sorted(json.loads(text)["uid"] for text in texts) == ["trainyard-jobs", "trainyard-services"]
