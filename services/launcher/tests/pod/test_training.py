"""The digits example as two pods of two ranks: DistributedDataParallel over what the runner gave its processes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.launcher.core.cluster import lines
from trainyard.launcher.core.job import Job
from trainyard.launcher.ports import Report

PYTHON = os.environ.get("TRAINYARD_TEST_TORCH_PYTHON", "")
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.timeout(400),
    pytest.mark.skipif(
        not PYTHON, reason="TRAINYARD_TEST_TORCH_PYTHON names no interpreter with torch and scikit-learn"
    ),
]
EXAMPLE = Path(__file__).parents[4] / "examples" / "digits-pytorch"


def test_four_ranks_in_two_pods_train_one_model(pods: Any, job: Callable[..., Job]) -> None:
    made = job(
        framework="pytorch",
        command="python train.py --epochs 3",
        workdir=str(EXAMPLE),
        replicas=2,
        processes=2,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    path = f"{Path(PYTHON).parent}:{os.environ['PATH']}"
    both = [pods.start(made, index=index, PATH=path) for index in (0, 1)]
    (first, said), (second, more) = (pod.end(within=300) for pod in both)
    assert (first, second) == (0, 0), said + more
    reports = [json.loads(found) for line in said.encode().splitlines() if (found := lines.report(line)) is not None]
    last = Report(**reports[-1])
    assert (last.rank, last.epoch, last.epochs) == (0, 3, 3)
    assert (last.metrics["accuracy"] or 0) > 0.5, last.metrics
    assert (pods.home / "volume" / made.job_id / "output" / "model.pt").stat().st_size > 1000
    told = [item for pod in both for item in pod.told()]
    assert {item["rank"]: item["code"] for item in told} == {0: 0, 1: 0, 2: 0, 3: 0}
    assert sys.executable != PYTHON, "the runner's interpreter is not the job's here"
