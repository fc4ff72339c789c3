"""The proof over a socket: our own server, and a Triton that has never seen our folders."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import pytest_asyncio
import uvicorn
from google.protobuf import json_format, text_format
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from tritonclient.grpc import model_config_pb2

from trainyard.common.errors import Retryable, TrainyardError
from trainyard.common.loopback import free_port
from trainyard.common.testing.eventually import eventually
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.serving.application import create
from trainyard.converter.serving.repository import Repository

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5]], np.float32)


def served_by(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder) in (process.info["cmdline"] or []) and process.status() != psutil.STATUS_ZOMBIE
    ]


async def test_our_server_answers_and_is_gone(tmp_path: Path, add_affine: Callable[..., int]) -> None:
    folder = tmp_path / "models"
    add_affine(folder)
    endpoint, server, outputs = await TritonServingCheck().ask(folder, "affine", {"x": X})
    assert endpoint.startswith("127.0.0.1:")
    assert server.startswith("trainyard ")
    assert np.array_equal(outputs["y"], 2 * X + 1)
    assert outputs["z"].dtype == np.float64
    assert served_by(folder) == []


async def test_a_model_that_is_none_is_refused_with_the_reason(tmp_path: Path, add_affine: Callable[..., int]) -> None:
    folder = tmp_path / "models"
    add_affine(folder)
    (folder / "affine" / "1" / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(TrainyardError, match=r"refuses the model: model 'affine' is not loaded: onnxruntime") as caught:
        await TritonServingCheck().ask(folder, "affine", {"x": X})
    assert not isinstance(caught.value, Retryable)


async def test_a_server_that_ends_at_once_is_tried_again_later(tmp_path: Path) -> None:
    with pytest.raises(Retryable, match="ended with code 2"):
        await TritonServingCheck().ask(tmp_path / "nowhere", "affine", {"x": X})


async def test_a_triton_that_does_not_answer_is_tried_again_later(
    tmp_path: Path, add_affine: Callable[..., int]
) -> None:
    add_affine(tmp_path / "models")
    with pytest.raises(Retryable, match="does not answer"):
        await TritonServingCheck(f"127.0.0.1:{free_port()}").ask(tmp_path / "models", "affine", {"x": X})


class Triton:
    """Takes models with the request to load them, as Triton in explicit model control does; our server behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repository = Repository(folder)
        self.loaded: list[str] = []
        self.unloaded: list[str] = []
        application = create(self.repository)
        base = "/v2/repository/models/{name}"
        application.router.routes.insert(0, Route(base + "/load", self._load, methods=["POST"]))
        application.router.routes.insert(0, Route(base + "/unload", self._unload, methods=["POST"]))
        self.application = application

    async def _load(self, request: Request) -> Response:
        name = request.path_params["name"]
        parameters = json.loads(await request.body())["parameters"]
        config = json.loads(parameters.pop("config"))
        for path, content in parameters.items():
            file = self.folder / name / path.removeprefix("file:")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(base64.b64decode(content))
        (self.folder / name / "config.pbtxt").write_text(as_pbtxt(config))
        self.repository.load(name)
        self.loaded.append(name)
        return Response()

    async def _unload(self, request: Request) -> Response:
        self.repository.unload(request.path_params["name"])
        self.unloaded.append(request.path_params["name"])
        return Response()


def as_pbtxt(config: dict[str, Any]) -> str:
    return str(text_format.MessageToString(json_format.ParseDict(config, model_config_pb2.ModelConfig())))


@pytest_asyncio.fixture
async def remote(tmp_path: Path) -> AsyncIterator[tuple[Triton, str]]:
    (tmp_path / "elsewhere").mkdir()
    triton = Triton(tmp_path / "elsewhere")
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(triton.application, port=port, log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    yield triton, f"127.0.0.1:{port}"
    server.should_exit = True
    await task


async def test_a_triton_gets_the_model_under_a_name_of_its_own(
    tmp_path: Path, add_affine: Callable[..., int], remote: tuple[Triton, str]
) -> None:
    triton, url = remote
    add_affine(tmp_path / "models")
    endpoint, _, outputs = await TritonServingCheck(url).ask(tmp_path / "models", "affine", {"x": X})
    assert endpoint == url
    assert np.array_equal(outputs["y"], 2 * X + 1)
    (trial,) = triton.loaded
    assert trial.startswith("affine-proof-")
    assert triton.unloaded == [trial]  # nothing is left behind
    assert (triton.folder / trial / "labels.txt").read_text().split() == ["low", "middle", "high"]
