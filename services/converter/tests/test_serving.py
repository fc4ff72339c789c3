"""The embedded model server against the real tritonclient, and against requests that no client would send."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnx
import pytest
import tritonclient.http.aio as triton
from onnx import TensorProto, helper
from tritonclient.utils import InferenceServerException

from trainyard.common.loopback import free_port
from trainyard.converter.adapters import repository
from trainyard.converter.core.triton import Tensor, configure

pytestmark = pytest.mark.integration


def doubling(path: Path) -> None:
    """y = 2·x + 1 with a free batch."""
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "two"], ["t"]), helper.make_node("Add", ["t", "one"], ["y"])],
        "double",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [
            helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
            helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("models")
    doubling(folder / "model.onnx")
    x, y = Tensor("x", "float32", (-1, 3)), Tensor("y", "float32", (-1, 3))
    config = configure("double", [x], [y], largest_batch=4, labels=["a", "b", "c"])
    repository.write(folder / "repository", config, folder / "model.onnx")
    broken = folder / "repository" / "broken"
    broken.mkdir()
    (broken / "config.pbtxt").write_text("name: 5 5")
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "trainyard.converter.serving",
        "--repository",
        str(folder / "repository"),
        "--port",
        str(port),
    ]
    process = subprocess.Popen(command)
    url = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while True:
        try:
            httpx.get(f"{url}/v2/health/live", trust_env=False)
            break
        except httpx.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield url
    process.terminate()
    process.wait(timeout=20)


@pytest.mark.parametrize("binary", [True, False])
async def test_tritonclient_gets_the_models_numbers(server: str, binary: bool) -> None:
    client = triton.InferenceServerClient(server.removeprefix("http://"))
    try:
        assert await client.is_server_live()
        assert await client.is_model_ready("double")
        metadata = await client.get_model_metadata("double")
        assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}]
        assert (await client.get_model_config("double"))["max_batch_size"] == 4
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        tensor = triton.InferInput("x", [2, 3], "FP32")
        tensor.set_data_from_numpy(x, binary_data=binary)
        output = triton.InferRequestedOutput("y", binary_data=binary)
        result = await client.infer("double", [tensor], outputs=[output], request_id="r-1")
        np.testing.assert_array_equal(result.as_numpy("y"), 2 * x + 1)
        assert result.get_response()["id"] == "r-1"
        classes = triton.InferRequestedOutput("y", binary_data=False, class_count=1)
        best = await client.infer("double", [tensor], outputs=[classes])
        assert best.get_response()["outputs"][0]["data"] == ["5.000000:2:c", "11.000000:2:c"]
        statistics = await client.get_inference_statistics("double")
        assert statistics["model_stats"][0]["inference_count"] >= 2
    finally:
        await client.close()


async def test_models_are_loaded_and_unloaded(server: str) -> None:
    client = triton.InferenceServerClient(server.removeprefix("http://"))
    try:
        await client.unload_model("double")
        assert not await client.is_model_ready("double")
        states = {item["name"]: item["state"] for item in await client.get_model_repository_index()}
        assert states == {"double": "UNAVAILABLE", "broken": "UNAVAILABLE"}
        await client.load_model("double")
        assert await client.is_model_ready("double")
        for name in ("broken", "missing", "..", "../double"):
            with pytest.raises(InferenceServerException):
                await client.load_model(name)
    finally:
        await client.close()


def tensor(**changes: Any) -> dict[str, Any]:
    return {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3], **changes}


@pytest.mark.parametrize(
    ("body", "headers", "says"),
    [
        (b"{", {}, "not JSON"),
        (b"[]", {}, "list `inputs`"),
        ({"inputs": [{}]}, {}, "has a name"),
        ({"inputs": [tensor(name="z")]}, {}, "the inputs are x"),
        ({"inputs": [tensor(), tensor()]}, {}, "there twice"),
        ({"inputs": [tensor(datatype="FP64")]}, {}, "float64, float32 is needed"),
        ({"inputs": [tensor(datatype="QUAD")]}, {}, "has datatype 'QUAD'"),
        ({"inputs": [tensor(shape=[3])]}, {}, "has shape [3]"),
        ({"inputs": [tensor(shape=[-1, 3])]}, {}, "no usable shape"),
        ({"inputs": [tensor(shape=[10**9, 10**9])]}, {}, "no usable shape"),
        ({"inputs": [tensor(data=[1, 2])]}, {}, "does not fit"),
        ({"inputs": [tensor(data=["a", "b", "c"])]}, {}, "does not fit"),
        ({"inputs": [tensor(shape=[5, 3], data=[0] * 15)]}, {}, "above max_batch_size 4"),
        ({"inputs": [tensor()], "outputs": [{"name": "w"}]}, {}, "no output 'w'"),
        ({"inputs": [{k: v for k, v in tensor().items() if k != "data"}]}, {}, "neither data nor"),
        ({"inputs": [tensor(parameters={"binary_data_size": 11})]}, {}, "need 12"),
        (b"{}", {"Inference-Header-Content-Length": "99"}, "does not fit a body"),
    ],
)  # fmt: skip
def test_requests_that_do_not_fit(server: str, body: Any, headers: dict[str, str], says: str) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    response = httpx.post(f"{server}/v2/models/double/infer", content=content, headers=headers, trust_env=False)
    assert response.status_code == 400
    assert says in response.json()["error"]


def test_a_missing_model_and_version(server: str) -> None:
    for path in ("/v2/models/none", "/v2/models/double/versions/9"):
        assert httpx.get(server + path, trust_env=False).status_code == 404
