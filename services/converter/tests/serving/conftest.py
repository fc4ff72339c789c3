"""Model servers as processes: ours, over HTTP and gRPC."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from trainyard.common.loopback import free_port
from trainyard.converter.adapters import repository
from trainyard.converter.core import triton
from trainyard.converter.core.triton import Tensor


@dataclass(frozen=True, slots=True)
class Server:
    folder: Path
    """Its repository."""
    http: str
    """`host:port`."""
    grpc: str


@contextmanager
def started(folder: Path, *options: str) -> Iterator[Server]:
    """`python -m trainyard.converter.serving` on free ports."""
    server = Server(folder, f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}")
    command = [sys.executable, "-m", "trainyard.converter.serving", "--repository", str(folder), *options]
    ports = ["--port", server.http.rpartition(":")[2], "--grpc-port", server.grpc.rpartition(":")[2]]
    process = subprocess.Popen([*command, *ports], stdout=subprocess.DEVNULL)
    try:
        wait_until_live(server, process)
        yield server
    finally:
        process.terminate()
        assert process.wait(20) == 0


def wait_until_live(server: Server, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, "the server has ended"
        try:
            urllib.request.urlopen(f"http://{server.http}/v2/health/live", timeout=5).close()
        except OSError:
            assert time.monotonic() < deadline, "the server is not up"
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="session")
def serving() -> Callable[..., AbstractContextManager[Server]]:
    return started


@pytest.fixture(scope="session")
def until_live() -> Callable[..., None]:
    return wait_until_live


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:
        yield lambda folder, *options: stack.enter_context(started(folder, *options))


@pytest.fixture
def run_server() -> Callable[..., tuple[int, str]]:
    """Exit code and what was said, of a start that is to fail."""

    def run(*options: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "trainyard.converter.serving", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stderr

    return run


def affine_config(name: str = "affine") -> triton.ModelConfig:
    outputs = [Tensor("y", "float32", (-1, 3)), Tensor("z", "float64", (-1, 3))]
    inputs = [Tensor("x", "float32", (-1, 3))]
    return triton.configure(name, inputs, outputs, max_batch=4, labels=("low", "middle", "high"))


@pytest.fixture(scope="module")
def affine_server(tmp_path_factory: pytest.TempPathFactory, affine_file: Path) -> Iterator[Server]:
    """With `affine` (two versions), and `broken`, whose model is no ONNX."""
    folder = tmp_path_factory.mktemp("repository")
    for _ in range(2):
        repository.write(folder, affine_config(), affine_file)
    nonsense = folder.parent / "nonsense"
    nonsense.write_bytes(b"nonsense")
    repository.write(folder, affine_config("broken"), nonsense)
    with started(folder) as running:
        yield running


@pytest.fixture(scope="module")
def endpoint(affine_server: Server) -> str:
    return affine_server.http
