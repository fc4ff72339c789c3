"""Small ONNX models by hand, and a real server on a repository of them."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from trainyard.common.loopback import free_port
from trainyard.converter.adapters import repository
from trainyard.converter.core import triton
from trainyard.converter.core.triton import Tensor


def affine(path: Path, batch: str | int = "batch") -> Path:
    """y = 2·x + 1 on float32 [batch, 3], and its twin z of the same values as float64."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"]),
        helper.make_node("Add", ["doubled", "one"], ["y"]),
        helper.make_node("Cast", ["y"], ["z"], to=TensorProto.DOUBLE),
    ]
    graph = helper.make_graph(
        nodes,
        "affine",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3]),
            helper.make_tensor_value_info("z", TensorProto.DOUBLE, [batch, 3]),
        ],
        [
            helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
            helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def affine_config(name: str = "affine", max_batch: int = 4) -> triton.ModelConfig:
    return triton.configure(
        name,
        [Tensor("x", "float32", (-1, 3))],
        [Tensor("y", "float32", (-1, 3)), Tensor("z", "float64", (-1, 3))],
        max_batch=max_batch,
        labels=("low", "middle", "high"),
    )


@pytest.fixture
def add_affine(tmp_path: Path) -> Callable[..., int]:
    """Adds the model `affine` to a repository, as its next version."""
    file = affine(tmp_path / "affine.onnx")
    return lambda folder, name="affine": repository.write(folder, affine_config(name), file)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """`python -m trainyard.converter.serving` on a free port; `host:port`."""
    endpoint = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "trainyard.converter.serving", "--repository", str(folder), *options]
    process = subprocess.Popen([*command, "--port", endpoint.rpartition(":")[2]])
    try:
        deadline = time.monotonic() + 30
        while True:
            assert process.poll() is None, "the server has ended"
            try:
                urllib.request.urlopen(f"http://{endpoint}/v2/health/live", timeout=5).close()
                break
            except OSError:
                assert time.monotonic() < deadline, "the server is not up"
                time.sleep(0.05)
        yield endpoint
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:
        yield lambda folder, *options: stack.enter_context(serving(folder, *options))


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with `affine` (two versions), and `broken`, whose model is no ONNX."""
    folder = tmp_path_factory.mktemp("repository")
    model = affine(folder.parent / "affine.onnx")
    for _ in range(2):
        repository.write(folder, affine_config(), model)
    nonsense = folder.parent / "nonsense"
    nonsense.write_bytes(b"nonsense")
    repository.write(folder, affine_config("broken"), nonsense)
    with serving(folder) as address:
        yield address
