"""Nodes that an attempt keeps away from stand in its pods by their names, beside the labels that its product needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from trainyard.common.contract.events import Resolution
from trainyard.common.contract.nodes import Avoided
from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build

AWAY = [{"key": "metadata.name", "operator": "NotIn", "values": [name]} for name in ("a.example", "b")]
LABELLED = [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["A100"]}]


@pytest.mark.parametrize(
    ("avoids", "product", "terms"),
    [
        pytest.param((), {}, None, id="neither"),
        pytest.param(("b", "a.example"), {}, [{"matchFields": AWAY}], id="nodes"),
        pytest.param((), {"nvidia.com/gpu.product": "A100"}, [{"matchExpressions": LABELLED}], id="a product"),
        pytest.param(
            ("b", "a.example"),
            {"nvidia.com/gpu.product": "A100"},
            [{"matchExpressions": LABELLED, "matchFields": AWAY}],
            id="both, in one term: of several terms one would be enough",
        ),
    ],
)
def test_where_pods_may_not_stand(
    resolved: Callable[..., Job], avoids: tuple[str, ...], product: dict[str, str], terms: Any
) -> None:
    job = resolved()
    resolution = replace_labels(job.resolution, product)
    job = replace(job, resolution=resolution, avoids=tuple(Avoided(node=name, why="w") for name in avoids))
    [maker] = [item for item in build(job, Cluster()).rest if item["kind"] == "Job"]
    affinity = maker["spec"]["template"]["spec"].get("affinity", {}).get("nodeAffinity")
    required = affinity and affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert required == terms


def replace_labels(resolution: Resolution | None, labels: dict[str, str]) -> Resolution:
    assert resolution is not None
    return resolution.model_copy(update={"node_labels": labels})
