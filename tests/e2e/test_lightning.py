"""Lightning takes its world from the job, and a group that loses a rank goes on from its checkpoint: `just frameworks`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.common.contract.views import JobView
from trainyard.common.lifecycle.states import State

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits-lightning"
pytestmark = [pytest.mark.e2e, pytest.mark.frameworks, pytest.mark.timeout(400)]

RANK_1_DIES = """
if [ "$RANK" = 1 ] && [ "$TRAINYARD_ATTEMPT" = 1 ]; then
  (while [ ! -e "$TRAINYARD_CHECKPOINT/last.ckpt" ]; do sleep 0.2; done; pkill -KILL -P $$ python) &
fi
python train.py --epochs 40
"""
TRAINER = """
import lightning
from lightning.pytorch.demos.boring_classes import BoringModel
trainer = lightning.Trainer({options}max_epochs=1, limit_train_batches=2, limit_val_batches=0, accelerator="cpu",
                            logger=False, enable_checkpointing=False, enable_progress_bar=False)
trainer.fit(BoringModel())
print("world", trainer.global_rank, "of", trainer.world_size, flush=True)
"""
FABRIC = """
import lightning
fabric = lightning.Fabric(accelerator="cpu")
fabric.launch()
ranks = fabric.all_gather(fabric.global_rank).numel()
print("world", fabric.global_rank, "of", ranks, flush=True)
"""


def run(gateway: Yard, **changes: Any) -> tuple[JobView, list[str]]:
    spec = {**files.read(EXAMPLE), **changes}
    job = gateway.wait(gateway.submit(spec).job_id, timeout=300)
    return job, [line["text"] for line in gateway.follow_logs(job.job_id)]


def epochs(lines: list[str]) -> list[int]:
    return [int(match[1]) for line in lines if (match := re.match(r"epoch +(\d+) ", line))]


@pytest.mark.parametrize(
    ("script", "replicas", "processes"),
    [(TRAINER.format(options=""), 1, 2), (TRAINER.format(options=""), 2, 1), (FABRIC, 1, 2)],
    ids=["Trainer", "Trainer on two replicas", "Fabric"],
)
def test_a_script_that_says_no_numbers(script: str, replicas: int, processes: int, gateway: Yard) -> None:
    command = ["python", "-W", "ignore", "-c", script]
    job, lines = run(gateway, command=command, replicas=replicas, processes=processes)
    assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *lines[-20:]])
    assert {line for line in lines if line.startswith("world")} == {"world 0 of 2", "world 1 of 2"}


def test_a_script_that_says_other_numbers_is_told(gateway: Yard) -> None:
    command = ["python", "-W", "ignore", "-c", TRAINER.format(options='strategy="ddp", devices=3, ')]
    job, lines = run(gateway, command=command, retries={"user": 0})
    assert job.state is State.FAILED
    assert any("(3 * 1) does not match the world size (2)" in line for line in lines), lines


def test_a_killed_rank_ends_the_group_and_the_next_attempt_goes_on(gateway: Yard) -> None:
    job, lines = run(gateway, command=["sh", "-c", RANK_1_DIES])
    assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *lines[-20:]])
    assert job.attempt == 2
    first = [line["text"] for line in gateway.follow_logs(job.job_id, attempt=1)]
    starts = [int(line.split()[-1]) for line in (*first, *lines) if line.startswith("2 ranks, from epoch ")]
    assert starts[0] == 1
    assert starts[1] > 1, "from the checkpoint, not from the beginning"
    assert epochs(first)[-1] in {starts[1] - 1, starts[1]}, (
        "the last one may have ended before its checkpoint was written"
    )
    assert epochs(lines) == list(range(starts[1], 41)), "no epoch is left out"
    assert job.progress is not None
    assert job.progress["metrics"]["accuracy"] >= 0.95


def test_without_a_retry_a_killed_rank_fails_the_job(gateway: Yard) -> None:
    job, _ = run(gateway, command=["sh", "-c", RANK_1_DIES], retries={"user": 0, "infrastructure": 0})
    assert job.state is State.FAILED
    assert "rank 1" in (job.message or ""), job.message
