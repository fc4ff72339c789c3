"""The other ways that a framework can start its processes, on the examples: `just frameworks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trainyard.client import files
from trainyard.client.sdk import Yard
from trainyard.common.lifecycle.states import State

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
pytestmark = [pytest.mark.e2e, pytest.mark.frameworks, pytest.mark.timeout(400)]

TORCHRUN = {"name": "pytorch", "mode": "torchrun"}
DIES_ONCE = """
if [ "$RANK" = 1 ] && [ "$TORCHELASTIC_RESTART_COUNT" = 0 ]; then (sleep 8; pkill -KILL -P $$ python) & fi
python train.py --epochs 40
"""
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "torchrun on two replicas": ("pytorch", {"framework": TORCHRUN, "replicas": 2, "processes": 1}),
    "elastic torchrun, one rank killed": (
        "pytorch",
        {
            "framework": {**TORCHRUN, "elastic": {"min_replicas": 1, "restarts": 2}},
            "command": ["sh", "-c", DIES_ONCE],
            "retries": {"user": 0},
        },
    ),
    "Lightning under torchrun on two replicas": (
        "lightning",
        {"framework": {"name": "lightning", "mode": "torchrun"}, "replicas": 2, "processes": 1},
    ),
    "Lightning under elastic torchrun": (
        "lightning",
        {"framework": {"name": "lightning", "mode": "torchrun", "elastic": {"min_replicas": 1, "restarts": 2}}},
    ),
    "paddle.distributed.launch": ("paddle", {"framework": {"name": "paddle", "mode": "launch"}}),
    "MindSpore's dynamic cluster": (
        "mindspore",
        {
            "roles": {
                "scheduler": {"resources": {"cpu": 0.2}},
                "worker": {"processes": 2, "resources": {"cpu": 0.8, "memory": "2Gi"}},
            }
        },
    ),
    "Keras on TensorFlow": ("keras", {"framework": {"name": "keras", "mode": "tensorflow"}}),
    "Keras on JAX": ("keras", {"framework": {"name": "keras", "mode": "jax"}}),
    "DeepSpeed ZeRO 1": ("deepspeed", {"command": "python train.py --stage 1"}),
    "DeepSpeed ZeRO 3": ("deepspeed", {"command": "python train.py --stage 3"}),
    "DeepSpeed ZeRO 3 with offload": ("deepspeed", {"command": "python train.py --stage 3 --offload"}),
}


@pytest.mark.parametrize("case", CASES)
def test_mode(case: str, gateway: Yard) -> None:
    example, changes = CASES[case]
    spec = {**files.read(EXAMPLES / f"digits-{example}"), **changes}
    spec.pop("convert", None)
    if "roles" in changes:
        for name in ("processes", "replicas", "resources"):
            spec.pop(name, None)
    job = gateway.wait(gateway.submit(spec).job_id, timeout=300)
    lines = [f"{line['rank']}: {line['text']}" for line in gateway.follow_logs(job.job_id)]
    assert job.state is State.SUCCEEDED, "\n".join([job.message or "", *lines[-40:]])
    assert job.attempt == 1, "the framework's own launcher has mended it, if anybody had to"
    assert job.progress is not None
    assert job.progress["metrics"]["accuracy"] >= 0.95
