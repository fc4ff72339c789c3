"""Every framework trains its example on real data, in at least two processes, to the accuracy that its job file states.

Those that fit CI's time run always; the others by `just frameworks`, which prints a table of all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.common.contract.frameworks import FRAMEWORKS
from trainyard.common.images import cache, catalogue
from trainyard.common.lifecycle.states import State
from trainyard.common.testing.yard import YardProcess

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

IN_CI = ("generic", "jax", "lightgbm", "lightning", "sklearn", "tensorflow", "xgboost")
"""Beside PyTorch, which is the main job."""
BY_HAND = (
    "catboost", "colossalai", "deepspeed", "keras", "mindspore", "mpi", "mxnet", "paddle", "ray", "tensorflow/ps.yaml",
)  # fmt: skip
CONTAINER_ONLY = {"horovod", "oneflow"}
"""No wheels for this Python: their images say so (see test_what_cannot_be_had_here_says_why)."""

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    """What ran, printed at the end."""
    rows: list[str] = []
    yield rows
    print("\n" + "\n".join(["example                  processes  accuracy  stated  seconds", *rows]))


def train(name: str, gateway: Yard, rows: list[str]) -> None:
    spec = files.read(EXAMPLES / f"digits-{name}")
    stated = float(spec["labels"]["expected-accuracy"])
    began = time.monotonic()
    submitted = gateway.submit(spec)
    job = gateway.wait(submitted.job_id, timeout=500)
    lines = [f"{line['rank']}: {line['text']}" for line in gateway.follow_logs(job.job_id)]
    assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *lines[-40:]])
    assert job.progress is not None
    accuracy = job.progress["metrics"]["accuracy"]
    processes = _processes(spec)
    rows.append(f"{name:<24} {processes:>9}  {accuracy:>8.4f}  {stated:>6}  {time.monotonic() - began:>7.1f}")
    assert processes >= 2
    assert accuracy >= stated
    assert job.result is not None
    assert any(Path(job.result["outputs"]).iterdir()), "the model is there"


def _processes(spec: dict[str, object]) -> int:
    roles = spec.get("roles")
    if isinstance(roles, dict):
        return sum(int(role.get("replicas", 1)) * int(role.get("processes", 1)) for role in roles.values())
    return int(str(spec.get("replicas", 1))) * int(str(spec.get("processes", 1)))


@pytest.mark.parametrize("name", IN_CI)
def test_in_ci(name: str, gateway: Yard, table: list[str]) -> None:
    train(name, gateway, table)


@pytest.mark.frameworks
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str, gateway: Yard, table: list[str]) -> None:
    train(name, gateway, table)


def test_every_framework_has_an_example_or_a_reason() -> None:
    named = {name.partition("/")[0] for name in (*IN_CI, *BY_HAND)} | CONTAINER_ONLY | {"pytorch"}
    assert named == set(FRAMEWORKS)


@pytest.mark.parametrize("framework", sorted(CONTAINER_ONLY))
def test_what_cannot_be_had_here_says_why(framework: str, gateway: Yard) -> None:
    recipe = catalogue.read(EXAMPLES.parent / "deploy" / "images", f"{framework}-cpu")
    assert cache.obstacle(recipe)
    job = gateway.wait(gateway.submit({"name": "a", "framework": framework, "command": ["true"]}).job_id, timeout=60)
    assert job.state is State.REJECTED
    assert recipe.not_local in (job.message or "")


def test_the_second_run_of_an_image_starts_at_once(yard: YardProcess, gateway: Yard) -> None:
    """The environment is found, not built: what passes until the first line is the interpreter's start."""
    spec = {"name": "again", "framework": "sklearn", "command": ["python", "-c", "print('here')"]}
    gateway.wait(gateway.submit(spec).job_id, timeout=300)  # builds it where nothing else has
    kinds = [event.kind for event in gateway.follow_events(gateway.submit(spec).job_id)]
    assert "queued" not in kinds, "nobody waits for an image that is there"
