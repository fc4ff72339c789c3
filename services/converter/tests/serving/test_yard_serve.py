"""`yard serve` as a person starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

from trainyard.common.loopback import free_port, is_free

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5]], np.float32)
YARD = [sys.executable, "-m", "trainyard.client", "serve"]


def test_it_says_where_it_serves_and_ends_with_ctrl_c(tmp_path: Path, add_affine: object) -> None:
    assert callable(add_affine)
    add_affine(tmp_path / "models")
    port = next(port for port in iter(free_port, None) if is_free(port + 1))
    environment = {**os.environ, "TRAINYARD_STATE": str(tmp_path)}
    with subprocess.Popen([*YARD, "--port", str(port)], stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            told = server.stdout.readline().strip()
            assert told == f"serving {tmp_path / 'models'} at http://127.0.0.1:{port}, gRPC at 127.0.0.1:{port + 1}"
            for module, url in ((tritonclient.http, f"127.0.0.1:{port}"), (tritonclient.grpc, f"127.0.0.1:{port + 1}")):
                with module.InferenceServerClient(url) as client:
                    tensor = module.InferInput("x", [1, 3], "FP32")
                    tensor.set_data_from_numpy(X)
                    assert np.array_equal(client.infer("affine", [tensor]).as_numpy("y"), 2 * X + 1)
            server.send_signal(signal.SIGINT)
            assert server.wait(20) == 0
        finally:
            server.kill()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "there is no folder {state}/models (`yard convert MODEL` makes it)"),
        (["/nowhere"], "there is no folder /nowhere"),
    ],
)
def test_a_repository_that_is_not_there(tmp_path: Path, arguments: list[str], words: str) -> None:
    environment = {**os.environ, "TRAINYARD_STATE": str(tmp_path)}
    done = subprocess.run([*YARD, *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode != 0
    assert words.format(state=tmp_path) in done.stderr
