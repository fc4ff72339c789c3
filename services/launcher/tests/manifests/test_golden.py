"""The digits example, whole: what changes here changes on every cluster. `UPDATE_GOLDEN=1 pytest …` writes it anew."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from trainyard.launcher.core.job import Job
from trainyard.launcher.core.manifests import Cluster, build, draft, faults, planned
from trainyard.launcher.core.manifests.names import Names
from trainyard.launcher.core.plan import AttemptPlan

GOLDEN = Path(__file__).with_name("digits-pytorch.json")


def test_the_example_is_what_it_was(digits: Callable[..., Job]) -> None:
    job = digits()
    made = build(job, Cluster())
    assert faults(job, Cluster()) == []
    plan = json.loads(gzip.decompress(base64.b64decode(made.root["binaryData"].pop("plan.json.gz"))))
    found = json.dumps({"root": made.root, "plan": plan, "rest": made.rest}, indent=2, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found)
    assert json.loads(found) == json.loads(GOLDEN.read_text())


def test_the_same_job_is_the_same_bytes(digits: Callable[..., Job]) -> None:
    assert build(digits(), Cluster()) == build(digits(), Cluster())
    assert build(digits(attempt=2), Cluster()) != build(digits(), Cluster())


def test_what_was_looked_at_for_faults_is_built_of_the_same_draft(
    digits: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand ranks are planned and packed once, not for each question."""
    attempts: list[int] = []
    attempt = planned.attempt

    def counted(job: Job, cluster: Cluster, names: Names) -> AttemptPlan:
        attempts.append(job.attempt)
        return attempt(job, cluster, names)

    monkeypatch.setattr(planned, "attempt", counted)
    job, cluster = digits(), Cluster()
    drafted = draft(job, cluster)
    assert faults(job, cluster, drafted) == []
    assert build(job, cluster, drafted) == build(job, cluster)
    assert attempts == [1, 1]
