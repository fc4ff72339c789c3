"""Rows of a dataset through served models, over Arrow Flight."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from trainyard.common.errors import InvalidInput
from trainyard.common.loopback import free_port
from trainyard.converter.adapters import repository
from trainyard.converter.core import triton
from trainyard.converter.core.triton import Tensor
from trainyard.converter.serving.flight import answered, functions
from trainyard.converter.serving.repository import Repository
from trainyard.data.dataset import Dataset, put
from trainyard.data.testing.process import Process

pytestmark = pytest.mark.integration
YARD = [sys.executable, "-m", "trainyard.client"]


def _served(folder: Path, inputs: list[Tensor], outputs: list[Tensor], batch: int, file: Path) -> Repository:
    repository.write(folder, triton.configure("affine", inputs, outputs, max_batch=batch), file)
    loaded = Repository(folder)
    loaded.load_all()
    assert not loaded.faults
    return loaded


@pytest.mark.parametrize("batch", [0, 1, 4])
def test_a_model_gets_as_many_rows_as_it_takes(tmp_path: Path, affine_file: Path, batch: int) -> None:
    """Without batches: one row at a time."""
    outputs = [Tensor("y", "float32", (-1, 3)), Tensor("z", "float64", (-1, 3))]
    loaded = _served(tmp_path, [Tensor("x", "float32", (-1, 3))], outputs, batch, affine_file)
    model = loaded.get("affine")
    rows = np.arange(30, dtype=np.float32).reshape(10, 3)
    found = answered(model, {"x": rows})
    assert np.array_equal(found["y"], 2 * rows + 1)
    assert list(found) == ["y", "z"]
    assert model.statistics.executions == {0: 10, 1: 10, 4: 3}[batch]
    assert functions(loaded)["affine"].inputs == ("x",)
    with pytest.raises(InvalidInput, match="input 'x' is FP64, FP32 is needed"):
        answered(model, {"x": rows.astype(np.float64)})


@pytest.fixture
def model_server(tmp_path: Path, add_affine: Callable[[Path], object]) -> Iterator[str]:
    """`yard serve` with the model `affine`; its place for Flight."""
    add_affine(tmp_path / "models")
    command = [*YARD, "serve", str(tmp_path / "models"), "--port", str(free_port()), "--grpc-port", "0"]
    with subprocess.Popen([*command, "--flight-port", "0"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            told = server.stdout.readline().strip()
            yield told.rpartition("Arrow Flight at ")[2]
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0
        finally:
            server.kill()


def test_a_dataset_through_a_model_from_the_shell(tmp_path: Path, model_server: str) -> None:
    data = Process(tmp_path / "data").start()
    environment = {**os.environ, "TRAINYARD_DATA": f"grpc://127.0.0.1:{data.port}", "TRAINYARD_TOKEN": "mine"}

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [*YARD, "data", "map", "points", "answers", "--at", model_server, *options]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    try:
        rows = np.random.default_rng(0).random((1001, 3), np.float32)
        with data.client() as client:
            put("points", {"place": rows, "label": np.arange(1001)}, client)
            refused = run("--through", "affine")
            assert refused.returncode == 4
            assert "affine takes 'x' and points has place, label" in refused.stderr
            done = run("--through", "affine", "--input", "x=place", "--keep", "label")
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("answers  1001 rows")
            (batch,) = Dataset("answers", client=client).numpy(batch=1001)
        assert np.array_equal(batch["y"], 2 * rows + 1)
        assert np.array_equal(batch["label"], np.arange(1001))
    finally:
        data.kill()
