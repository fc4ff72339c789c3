"""Batches into PyTorch: the data server's against a DataLoader that decodes each sample, in one run:
`python tests/bench/bench_loading.py IMAGES`. Samples are uint8 [64, 64, 3], compressed one by one as pictures are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from trainyard.common.images import cache, catalogue
from trainyard.data.dataset import put
from trainyard.data.testing.process import Process

ROOT = Path(__file__).parents[2]
SAMPLES = 4096
IN_TORCH = """
import sys, time, statistics, numpy, torch
from torch.utils.data import DataLoader, Dataset
from trainyard.data.dataset import Dataset as Shared

folder, samples = sys.argv[1], int(sys.argv[2])

class Files(Dataset):
    def __len__(self):
        return samples
    def __getitem__(self, at):
        with numpy.load(f"{folder}/{at}.npz") as stored:
            return torch.from_numpy(stored["pixels"])

def seconds(batches, pixels):
    began = time.perf_counter()
    total = sum(int(pixels(batch).sum()) for batch in batches)
    return time.perf_counter() - began, total

shared = Shared("pixels")
loaders = {
    "data server, shuffled": (shared.torch(batch=64, shuffle=True), lambda batch: batch["pixels"]),
    "data server, in order": (shared.torch(batch=64), lambda batch: batch["pixels"]),
    "DataLoader, 0 workers": (DataLoader(Files(), batch_size=64, shuffle=True), lambda batch: batch),
    "DataLoader, 2 workers": (DataLoader(Files(), 64, True, num_workers=2, persistent_workers=True), lambda batch: batch),
}
found = {name: [] for name in loaders}
sums = set()
for _ in range(4):
    for name, loader in loaders.items():
        took, total = seconds(*loader)
        found[name].append(took)
        sums.add(total)
assert len(sums) == 1, sums
medians = {name: statistics.median(values[1:]) for name, values in found.items()}
for name, took in medians.items():
    print(f"{name:24} {samples / took:10,.0f} samples a second")
best = min(took for name, took in medians.items() if name.startswith("DataLoader"))
print(f"data server, shuffled / the faster DataLoader: {best / medians['data server, shuffled']:.1f}")
"""


def main(images: str) -> None:
    python = cache.ensure(catalogue.read(ROOT / "deploy" / "images", "pytorch-cpu"), Path(images), print).python
    pixels = (np.random.default_rng(0).random((SAMPLES, 64, 64, 3)) ** 4 * 255).astype(np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        process = Process(Path(folder, "store")).start()
        try:
            for at, each in enumerate(pixels):
                np.savez_compressed(Path(folder, f"{at}.npz"), pixels=each)
            with process.client() as client:
                put("pixels", {"pixels": pixels}, client)
            env = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(str(ROOT / "libs" / package / "src") for package in ("data", "tensors")),
                "TRAINYARD_DATA": f"grpc://127.0.0.1:{process.port}",
                "TRAINYARD_TOKEN": "mine",
            }
            subprocess.run([python, "-c", IN_TORCH, folder, str(SAMPLES)], env=env, check=True)
        finally:
            process.kill()


if __name__ == "__main__":
    main(sys.argv[1])
