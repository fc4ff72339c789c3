"""The example that people copy, by hand as its README says: two processes, a good model, and it goes on after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trainyard.worker
from trainyard.common.loopback import free_port
from trainyard.common.testing.eventually import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits-pytorch"
SCORE = """
import sys, numpy, torch
sys.path.insert(0, sys.argv[1])
import model
network = model.build()
network.load_state_dict(torch.load(sys.argv[2] + "/model.pt", weights_only=True))
stored = numpy.load(sys.argv[2] + "/samples.npz")
logits = network.eval()(torch.from_numpy(stored["image"])).detach()
print((logits.argmax(1).numpy() == stored["labels"]).mean(), logits.shape, stored["image"].dtype, stored["image"].shape)
"""
SPLIT = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import train
trained, held_out = train.datasets(7)
assert torch.equal(held_out.tensors[0], train.datasets(7)[1].tensors[0])
seen = {image.numpy().tobytes() for image in trained.tensors[0]}
shared = sum(image.numpy().tobytes() in seen for image in held_out.tensors[0])
print(len(trained), len(held_out), shared, held_out.tensors[1].bincount().tolist())
"""


class Training:
    """Both ranks with what a launcher gives them."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.folder = folder
        self._python = python
        library = folder / "library" / "trainyard"
        library.mkdir(parents=True)
        (library / "worker").symlink_to(next(iter(trainyard.worker.__path__)))

    def start(self, epochs: int) -> list[subprocess.Popen[str]]:
        port = str(free_port())
        return [self._rank(rank, epochs, port) for rank in (0, 1)]

    def _rank(self, rank: int, epochs: int, port: str) -> subprocess.Popen[str]:
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.folder / "library"),
            "OMP_NUM_THREADS": "1",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "TRAINYARD_OUTPUT": str(self.folder / "output"),
            "TRAINYARD_CHECKPOINT": str(self.folder / "checkpoints"),
            "TRAINYARD_REPORT": str(self.folder / f"report-{rank}.jsonl"),
        }
        command = [self._python, "train.py", "--epochs", str(epochs)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=EXAMPLE, env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True)

    def reports(self) -> list[dict[str, Any]]:
        file = self.folder / "report-0.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def score(self) -> str:
        command = [self._python, "-c", SCORE, EXAMPLE, self.folder / "output"]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def ended(ranks: list[subprocess.Popen[str]]) -> list[str]:
    outputs = [rank.communicate(timeout=150)[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0, 0], outputs
    return outputs


async def test_it_trains_is_killed_and_goes_on(torch_python: Path, tmp_path: Path) -> None:
    training = Training(torch_python, tmp_path)
    killed = training.start(epochs=500)
    await eventually(lambda: len(training.reports()) >= 4, within=90)
    for rank in killed:
        rank.send_signal(signal.SIGKILL)
        rank.communicate()
    reached = training.reports()[-1]["epoch"]
    began = time.monotonic()
    first, second = ended(training.start(epochs=reached + 9))
    assert time.monotonic() - began < 60
    epochs = [line["epoch"] for line in training.reports()]
    going_on = int(first.split("going on after epoch ")[1].split("\n")[0])
    assert going_on in {reached - 1, reached}  # killed between report and checkpoint, or after it
    assert f"going on after epoch {going_on}" in second
    assert epochs[-1] == reached + 9
    last = training.reports()[-1]
    assert last["metrics"].keys() == {"loss", "accuracy", "samples_per_second"}
    assert last["metrics"]["accuracy"] >= 0.95
    assert last["step"] == last["steps"]
    assert not (tmp_path / "report-1.jsonl").exists()
    accuracy, *facts = training.score().split(" ", 1)
    # The weights that were saved are those that were scored.
    assert float(accuracy) == pytest.approx(last["metrics"]["accuracy"], abs=1e-6)
    assert facts == ["torch.Size([360, 10]) float32 (360, 1, 8, 8)\n"]


def test_the_split_holds_out_every_class_and_shares_no_digit(torch_python: Path) -> None:
    library = next(iter(trainyard.worker.__path__))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(library).parents[1])}
    output = subprocess.run(
        [torch_python, "-c", SPLIT, EXAMPLE], check=True, capture_output=True, text=True, timeout=60, env=env
    ).stdout
    trained, held_out, shared, counts = output.split(" ", 3)
    assert (trained, held_out, shared) == ("1437", "360", "0")
    assert np.ptp(json.loads(counts)) <= 2
