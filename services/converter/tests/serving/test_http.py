"""The embedded server as `tritonclient` sees it: the whole protocol over a real socket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def client(endpoint: str) -> Iterator[triton.InferenceServerClient]:
    connected = triton.InferenceServerClient(endpoint)
    yield connected
    connected.close()


def tensor(array: np.ndarray[Any, Any], name: str = "x", datatype: str = "FP32", binary: bool = True) -> Any:
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array, binary_data=binary)
    return made


X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 100.0]], np.float32)


@pytest.mark.parametrize("binary_in", [True, False])
@pytest.mark.parametrize("binary_out", [True, False])
def test_tensors_travel_as_json_and_in_binary(
    client: triton.InferenceServerClient, binary_in: bool, binary_out: bool
) -> None:
    outputs = [triton.InferRequestedOutput(name, binary_data=binary_out) for name in ("z", "y")]
    result = client.infer("affine", [tensor(X, binary=binary_in)], outputs=outputs, request_id="mine")
    assert np.array_equal(result.as_numpy("y"), 2 * X + 1)
    assert result.as_numpy("z").dtype == np.float64
    answer = result.get_response()
    assert [item["name"] for item in answer["outputs"]] == ["y", "z"]  # as the model has them
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("mine", "affine", "2")


def test_all_outputs_come_when_none_is_named(client: triton.InferenceServerClient) -> None:
    result = client.infer("affine", [tensor(X)])
    assert np.array_equal(result.as_numpy("z"), (2 * X + 1).astype(np.float64))


def test_classes_come_with_their_labels(client: triton.InferenceServerClient) -> None:
    result = client.infer("affine", [tensor(X)], outputs=[triton.InferRequestedOutput("y", class_count=2)])
    assert result.as_numpy("y").tolist() == [
        [b"3.000000:0:low", b"2.000000:2:high"],
        [b"201.000000:2:high", b"7.000000:1:middle"],
    ]


def test_health_and_metadata(client: triton.InferenceServerClient) -> None:
    assert client.is_server_live()
    assert not client.is_server_ready()  # `broken` is not
    assert client.is_model_ready("affine")
    assert client.is_model_ready("affine", "2")
    assert not client.is_model_ready("broken")
    assert client.get_server_metadata()["name"] == "trainyard"
    assert client.get_model_metadata("affine") == {
        "name": "affine",
        "versions": ["2"],
        "platform": "onnxruntime_onnx",
        "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 3]}],
        "outputs": [
            {"name": "y", "datatype": "FP32", "shape": [-1, 3]},
            {"name": "z", "datatype": "FP64", "shape": [-1, 3]},
        ],
    }
    assert client.get_model_config("affine")["max_batch_size"] == 4


def test_the_index_tells_why_a_model_is_away(client: triton.InferenceServerClient) -> None:
    index = {item["name"]: item for item in client.get_model_repository_index()}
    assert (index["affine"]["state"], index["affine"]["version"]) == ("READY", "2")
    assert index["broken"]["state"] == "UNAVAILABLE"
    assert "refuses the model" in index["broken"]["reason"]


def test_statistics_count_rows_and_runs(client: triton.InferenceServerClient) -> None:
    def counted() -> tuple[int, int]:
        found = client.get_inference_statistics("affine")["model_stats"][0]
        return found["inference_count"], found["execution_count"]

    rows, runs = counted()
    client.infer("affine", [tensor(X)])
    assert counted() == (rows + 2, runs + 1)
    assert [item["name"] for item in client.get_inference_statistics()["model_stats"]] == ["affine"]


@pytest.mark.parametrize(
    ("array", "name", "datatype", "words"),
    [
        (np.zeros((5, 3), np.float32), "x", "FP32", "batch 5 is above max_batch_size 4"),
        (np.zeros((0, 3), np.float32), "x", "FP32", "a batch has one row at least"),
        (np.zeros((2, 4), np.float32), "x", "FP32", "input 'x' has shape [2, 4], [-1, 3] is needed"),
        (np.zeros(3, np.float32), "x", "FP32", "input 'x' has shape [3], [-1, 3] is needed"),
        (np.zeros((2, 3), np.float64), "x", "FP64", "input 'x' is FP64, FP32 is needed"),
        (np.zeros((2, 3), np.float32), "w", "FP32", "the inputs are x, not w"),
        (np.array([[b"a", b"b", b"c"]], object), "x", "BYTES", "input 'x' is BYTES, FP32 is needed"),
    ],
)
def test_what_does_not_fit_is_refused(
    client: triton.InferenceServerClient, array: np.ndarray[Any, Any], name: str, datatype: str, words: str
) -> None:
    with pytest.raises(InferenceServerException) as caught:
        client.infer("affine", [tensor(array, name, datatype)])
    assert words in caught.value.message()
    assert client.is_server_live()


@pytest.mark.parametrize(
    ("name", "version", "words"),
    [
        ("nobody", "", "there is no model 'nobody'"),
        ("affine", "7", "model 'affine' has no version 7 here, only 2"),
        ("broken", "", "model 'broken' is not loaded: onnxruntime"),
    ],
)
def test_models_that_are_not_there(client: triton.InferenceServerClient, name: str, version: str, words: str) -> None:
    with pytest.raises(InferenceServerException) as caught:
        client.infer(name, [tensor(X)], model_version=version)
    assert words in caught.value.message()


def test_an_output_that_is_not_there(client: triton.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match=r"there is no output 'w'; there are y, z"):
        client.infer("affine", [tensor(X)], outputs=[triton.InferRequestedOutput("w")])


def test_models_are_loaded_and_unloaded_by_request(
    tmp_path: Path, add_affine: Callable[..., int], serve: Callable[..., Any]
) -> None:
    folder = tmp_path / "models"
    add_affine(folder)
    client = triton.InferenceServerClient(serve(folder, "--explicit").http)
    assert not client.is_model_ready("affine")
    client.load_model("affine")
    assert client.get_model_metadata("affine")["versions"] == ["1"]
    add_affine(folder)
    client.load_model("affine")
    assert client.get_model_metadata("affine")["versions"] == ["2"]
    client.unload_model("affine")
    assert not client.is_model_ready("affine")
    client.unload_model("affine")  # it is gone, which is all that was asked
    with pytest.raises(InferenceServerException, match="model 'affine' is not loaded"):
        client.infer("affine", [tensor(X)])
    for name in ("missing", "..", "../models/affine"):
        with pytest.raises(InferenceServerException):
            client.load_model(name)
    with pytest.raises(InferenceServerException, match="models are loaded from the repository only"):
        client.load_model("affine", config="{}", files={"file:1/model.onnx": b"anything"})
    client.close()
