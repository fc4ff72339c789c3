"""Three frameworks over one dataset, in a real yard: each job finds in memory what the one before it has put."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess
from trainyard.data.client import Client

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "three-frameworks-one-dataset"

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


def test_what_tensorflow_prepares_pytorch_learns_and_jax_judges(yard: YardProcess, gateway: Yard) -> None:
    for step in ("preprocess", "train", "evaluate"):
        submitted = gateway.submit(files.read(EXAMPLE / f"{step}.yaml"))
        job = gateway.wait(submitted.job_id, timeout=280)
        lines = [str(line["text"]) for line in gateway.follow_logs(job.job_id)]
        assert job.state is State.SUCCEEDED, "\n".join([step, job.message or "", *lines[-30:]])
    assert job.progress is not None
    assert job.progress["metrics"]["accuracy"] > 0.95
    with Client(yard.data, patience=0) as client:
        assert {item["dataset"]: item["rows"] for item in client.list("examples/digits")} == {
            "examples/digits/test": 360, "examples/digits/train": 1437, "examples/digits/weights": 1,
        }  # fmt: skip
        assert client.near(client.find("examples/digits/train"), 0) is not None
