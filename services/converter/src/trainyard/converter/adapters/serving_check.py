"""Proof that a repository serves: a server loads it and answers `tritonclient` with the model's own numbers.

Our server is started for the occasion on a free loopback port, or a real Triton is asked where one is configured. Asked
over HTTP with the binary extension, as clients do.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import tritonclient.http as blocking
import tritonclient.http.aio as triton
from google.protobuf import text_format
from google.protobuf.json_format import MessageToJson
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from trainyard.common.errors import Retryable, TrainyardError
from trainyard.common.loopback import free_port
from trainyard.converter.adapters.repository import LABELS, files_of, sendable, versions
from trainyard.converter.core.cases import Array, Case

START = 60.0  # seconds a server has to come up


class TritonServingCheck:
    """Implements ports.ServingCheck."""

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        """`host:port` of a real Triton in explicit model control; None: our own server."""

    async def ask(self, repository: Path, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
        """Endpoint, server and outputs of one inference. What is too large to be sent along is asked of our own server: the
        answer says which. Raises TrainyardError when the server refuses."""
        if self._url is None or not sendable(_newest(repository / name)):
            async with _server(repository) as endpoint:
                return await _infer(endpoint, name, inputs)
        # Under a name of its own, sent along: what Triton serves under the model's name stays until the proof is there.
        trial = f"{name}-proof-{secrets.token_hex(4)}"
        await asyncio.to_thread(_upload, self._url, repository / name, trial)
        try:
            return await _infer(self._url, trial, inputs)
        finally:
            await asyncio.to_thread(_unload, self._url, trial)


async def _infer(endpoint: str, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
    async with triton.InferenceServerClient(endpoint) as client:
        with _told(endpoint):
            server = await client.get_server_metadata()
            tensors = []
            for key, array in inputs.items():
                tensor = triton.InferInput(key, list(array.shape), np_to_triton_dtype(array.dtype))
                tensor.set_data_from_numpy(np.ascontiguousarray(array))
                tensors.append(tensor)
            result = await client.infer(name, tensors)
            outputs = {item["name"]: result.as_numpy(item["name"]) for item in result.get_response()["outputs"]}
            return endpoint, f"{server['name']} {server['version']}", outputs


@contextmanager
def _told(endpoint: str) -> Iterator[None]:
    """A server's refusal is told; one that cannot be reached is tried again later."""
    try:
        yield
    except InferenceServerException as error:
        raise TrainyardError(f"the server at {endpoint} refuses the model: {error.message()}") from error
    except Exception as error:
        # Not all connection errors of aiohttp are OSErrors, and its classes are no part of tritonclient's interface.
        if not isinstance(error, OSError) and not type(error).__module__.startswith("aiohttp"):
            raise
        raise Retryable(f"the server at {endpoint} does not answer: {error}", delay=15) from error


def _upload(url: str, model: Path, trial: str) -> None:
    """The model with its request to load it, so that Triton need not see our folders."""
    config = text_format.Parse((model / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    config.name = trial
    version = _newest(model)
    files = {f"file:1/{item.relative_to(version)}": item.read_bytes() for item in files_of(version)}
    if (model / LABELS).exists():
        files[f"file:{LABELS}"] = (model / LABELS).read_bytes()
    with _told(url), closing(blocking.InferenceServerClient(url)) as client:
        client.load_model(trial, config=MessageToJson(config, preserving_proto_field_name=True), files=files)


def _newest(model: Path) -> Path:
    return model / str(versions(model)[-1])


def _unload(url: str, trial: str) -> None:
    with suppress(InferenceServerException, OSError), closing(blocking.InferenceServerClient(url)) as client:
        client.unload_model(trial)


@asynccontextmanager
async def _server(repository: Path) -> AsyncIterator[str]:
    """Our own server on this repository, with every model loaded."""
    endpoint = f"127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "trainyard.converter.serving", "--with-parent"]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--repository",
        str(repository),
        "--port",
        endpoint.rpartition(":")[2],
        "--grpc-port=0",
        stdin=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        await _until_ready(process, endpoint)
        yield endpoint
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _until_ready(process: asyncio.subprocess.Process, endpoint: str) -> None:
    """Until it answers at all: which of its models it refuses is for the inference to tell."""
    host, _, port = endpoint.rpartition(":")
    deadline = asyncio.get_running_loop().time() + START
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:
        try:
            _, writer = await asyncio.open_connection(host, int(port))
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        await writer.wait_closed()
        return
    how = f"ended with code {process.returncode}" if process.returncode is not None else f"is not up after {START:g} s"
    raise Retryable(f"the model server at {endpoint} {how}", delay=5)
