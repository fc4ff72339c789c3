"""Proof that a repository serves: a server loads it and answers `tritonclient` with the model's own numbers.

Our server is started for the occasion on a free loopback port, or a real Triton is asked where one is configured. Asked
over HTTP with the binary extension, as clients do.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import tritonclient.http.aio as triton
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from trainyard.common.errors import Retryable, TrainyardError
from trainyard.common.loopback import free_port
from trainyard.converter.core.cases import Array, Case

START = 60.0  # seconds a server has to come up


class TritonServingCheck:
    """Implements ports.ServingCheck."""

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        """`host:port` of a real Triton with this repository; None: our own server."""

    async def ask(self, repository: Path, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
        """Endpoint, server and outputs of one inference. Raises TrainyardError when the server refuses."""
        if self._url is not None:
            return await self._infer(self._url, name, inputs)
        async with _server(repository) as endpoint:
            return await self._infer(endpoint, name, inputs)

    async def _infer(self, endpoint: str, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
        client = triton.InferenceServerClient(endpoint)
        try:
            await _until_live(client, endpoint)
            await client.load_model(name)
            server = await client.get_server_metadata()
            tensors = []
            for key, array in inputs.items():
                tensor = triton.InferInput(key, list(array.shape), np_to_triton_dtype(array.dtype))
                tensor.set_data_from_numpy(np.ascontiguousarray(array))
                tensors.append(tensor)
            result = await client.infer(name, tensors)
            outputs = {item["name"]: result.as_numpy(item["name"]) for item in result.get_response()["outputs"]}
        except InferenceServerException as error:
            raise TrainyardError(f"the server at {endpoint} refuses the model: {error.message()}") from error
        finally:
            await client.close()
        return endpoint, f"{server['name']} {server['version']}", outputs


@asynccontextmanager
async def _server(repository: Path) -> AsyncIterator[str]:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "trainyard.converter.serving",
        "--repository",
        str(repository),
        "--port",
        str(port),
        "--explicit",
        stdin=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield f"127.0.0.1:{port}"
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _until_live(client: triton.InferenceServerClient, endpoint: str) -> None:
    deadline = asyncio.get_running_loop().time() + START
    while True:
        try:
            if await client.is_server_live():
                return
        except (OSError, InferenceServerException):
            pass
        except Exception as error:
            # aiohttp's connection errors, whose class is no part of tritonclient's interface.
            if "aiohttp" not in type(error).__module__:
                raise
        if asyncio.get_running_loop().time() > deadline:
            raise Retryable(f"the model server at {endpoint} did not come up within {START:g} s", delay=5)
        await asyncio.sleep(0.05)
