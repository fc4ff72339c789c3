"""Loaders in the frameworks' own images: the rows of numpy, as that framework's tensors."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from trainyard.common.images import cache, catalogue
from trainyard.data.testing import table
from trainyard.data.testing.process import Process

ROOT = Path(__file__).resolve().parents[3]
pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]

SCRIPT = """
import sys, numpy as np
from trainyard.data.dataset import Dataset
name = sys.argv[1]
options = {"batch": 64, "shuffle": True, "seed": 5}
dataset = Dataset("digits", columns=("pixels", "label"))
plain = dataset.numpy(**options)
native = getattr(dataset, name)(**options)
try:
    lengths = [len(native)]
except (TypeError, ValueError):  # paddle's has none over what is iterated
    lengths = []
for epoch in range(2):
    count = 0
    for right, found in zip(plain, native):
        for column in ("pixels", "label"):
            value = found[column]
            assert type(value).__module__.split(".")[0] in KINDS[name], type(value)
            assert np.array_equal(np.asarray(value), right[column]), (epoch, count, column)
        count += 1
    assert count == 16, count
assert lengths in ([], [16])
print("equal")
"""
KINDS = {"torch": ["torch"], "tensorflow": ["tensorflow"], "jax": ["jaxlib", "jax"], "paddle": ["paddle"]}


@pytest.mark.parametrize(
    ("image", "name"),
    [("pytorch-cpu", "torch"), ("tensorflow-cpu", "tensorflow"), ("jax-cpu", "jax"), ("paddle-cpu", "paddle")],
)
def test_each_framework_sees_the_rows_of_numpy(images: Path, tmp_path: Path, image: str, name: str) -> None:
    python = cache.ensure(catalogue.read(ROOT / "deploy" / "images", image), images, lambda words: None).python
    process = Process(tmp_path / "store").start()
    try:
        with process.client() as client:
            client.put("digits", table(1000))
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "libs" / "data" / "src"),
            "TRAINYARD_DATA": f"grpc://127.0.0.1:{process.port}",
            "TRAINYARD_TOKEN": "mine",
        }
        done = subprocess.run(
            [python, "-c", f"KINDS = {KINDS}\n{SCRIPT}", name], env=env, capture_output=True, text=True, check=False
        )
    finally:
        process.kill()
    assert done.stdout.endswith("equal\n"), done.stderr[-3000:]
