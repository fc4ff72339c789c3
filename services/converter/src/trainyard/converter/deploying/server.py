"""A model server as a deployment sees it, over HTTP or gRPC by its address: `tritonclient`, with our errors."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from trainyard.common.errors import InvalidInput, TrainyardError, Unavailable
from trainyard.converter.core.cases import Array, Case

_ADDRESS = re.compile(r"(?:(http|https|grpc|grpcs)://)?([^/:\s]+|\[[0-9a-fA-F:]+\]):(\d{1,5})/?")
_GONE = 30.0  # seconds that a server may take to drop what it was told to unload


class Refused(TrainyardError):
    """The server answers, and says no. `missing`: it has no such model."""

    def __init__(self, message: str, *, missing: bool) -> None:
        super().__init__(message)
        self.missing = missing


@contextmanager
def connect(url: str) -> Iterator[ModelServer]:
    """Raises InvalidInput for what is no address, Unavailable where nobody answers."""
    found = _ADDRESS.fullmatch(url)
    if found is None:
        raise InvalidInput.one(
            f"{url!r} is no address of a server", "--server", "http://127.0.0.1:8000 or grpc://127.0.0.1:8001"
        )
    scheme, address = found[1] or "http", f"{found[2]}:{found[3]}"
    module = tritonclient.grpc if scheme.startswith("grpc") else tritonclient.http
    with module.InferenceServerClient(address, ssl=scheme in {"https", "grpcs"}) as client:
        yield ModelServer(module, client, f"{scheme}://{address}")


class ModelServer:
    def __init__(self, module: Any, client: Any, url: str) -> None:
        self._module = module
        self._client = client
        self._as_json = {} if module is tritonclient.http else {"as_json": True}
        self.url = url

    def about(self) -> tuple[str, str]:
        """Name and version."""
        with self._told():
            found = self._client.get_server_metadata(**self._as_json)
            return str(found["name"]), str(found["version"])

    def versions(self, name: str) -> tuple[int, ...]:
        """Those that are served, in order."""
        # Not from the index: Triton's does not list what came over its load API.
        try:
            with self._told():
                found = self._client.get_model_metadata(name, **self._as_json)
        except Refused as error:
            if error.missing:
                return ()
            raise
        return tuple(sorted(map(int, found.get("versions", ()))))

    def load(self, name: str, config: str | None = None, files: Mapping[str, bytes] | None = None) -> None:
        """From its repository; or as `config` (JSON) and `files` (`file:1/model.onnx` → content) say."""
        with self._told():
            self._client.load_model(name, config=config, files=dict(files) if files else None)

    def unload(self, name: str) -> None:
        """Returns when it is gone."""
        with self._told():
            self._client.unload_model(name)
        deadline = time.monotonic() + _GONE
        while self.versions(name) and time.monotonic() < deadline:
            time.sleep(0.05)

    def infer(self, name: str, inputs: Case, version: int) -> dict[str, Array]:
        tensors = []
        for key, array in inputs.items():
            tensor = self._module.InferInput(key, list(array.shape), np_to_triton_dtype(array.dtype))
            tensor.set_data_from_numpy(np.ascontiguousarray(array))
            tensors.append(tensor)
        with self._told():
            result = self._client.infer(name, tensors, model_version=str(version))
            answer = result.get_response()
            items = answer["outputs"] if isinstance(answer, dict) else answer.outputs
            names = [item["name"] if isinstance(item, dict) else item.name for item in items]
            return {key: _texts(result.as_numpy(key)) for key in names}

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except InferenceServerException as error:
            status = str(error.status())
            if status in {"StatusCode.UNAVAILABLE", "StatusCode.DEADLINE_EXCEEDED"}:
                raise Unavailable(f"the server at {self.url} does not answer: {error.message()}") from error
            words = f"the server at {self.url} says: {str(error.message()).strip()}"
            raise Refused(words, missing=status in {"404", "StatusCode.NOT_FOUND"}) from error
        except (OSError, EOFError) as error:
            raise Unavailable(f"the server at {self.url} does not answer: {error}") from error


def _texts(array: Array) -> Array:
    """Strings come as bytes."""
    if array.dtype.kind != "O":
        return array
    found = np.empty(array.size, object)
    found[:] = [item.decode() if isinstance(item, bytes) else item for item in array.ravel()]
    return found.reshape(array.shape)
