"""What every server of the protocol does, as `tritonclient` sees it; ours is held to what a real Triton was seen to do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tritonclient.http

from trainyard.common.testing.eventually import eventually

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 100.0]], np.float32)
MISSING = {"404", "NOT_FOUND"}
WRONG = {"400", "INVALID_ARGUMENT"}


@pytest.fixture(scope="module", autouse=True)
def loaded(host: Any) -> None:
    with tritonclient.http.InferenceServerClient(host.http) as client:
        for name in ("newest", "every", "some", "two", "unbatched", "echo", "total"):
            client.load_model(name)


def test_a_server_that_lives_says_so(client: Any) -> None:
    assert client.inner.is_server_live()
    assert client.inner.is_model_ready("newest")
    assert not client.inner.is_model_ready("newest", "1")
    assert not client.inner.is_model_ready("nobody")


@pytest.mark.parametrize("binary", [True, False])
def test_numbers_go_in_and_come_out(client: Any, binary: bool) -> None:
    answer = client.ask("newest", {"x": X}, binary=binary, outputs={"y": 0})
    assert np.array_equal(answer["y"], X + 3)
    assert answer["y"].dtype == np.float32


KINDS = ("UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64")


@pytest.mark.parametrize("binary", [True, False])
def test_every_datatype_comes_back_as_it_went_in(client: Any, binary: bool) -> None:
    given: dict[str, Any] = {"BOOL": np.array([[True, False]]), "STRING": np.array([["naïve", ""]], object)}
    for kind in KINDS:
        dtype = np.dtype({"U": "uint", "I": "int", "F": "float"}[kind[0]] + kind.lstrip("UINTFP"))
        bounds = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
        given[kind] = np.array([[bounds.min, bounds.max]], dtype)
    # JSON has no halves.
    outputs = {f"out_{kind}": 0 for kind in given if binary or kind != "FP16"}
    answer = client.ask("echo", given, binary=binary, outputs=outputs)
    assert set(answer) == set(outputs)
    if binary or client.module is not tritonclient.http:  # as JSON they are text
        given["STRING"] = np.char.encode(given["STRING"].astype(str)).astype(object)
    for name, found in answer.items():
        assert np.array_equal(found, given[name.removeprefix("out_")]), name
        assert found.dtype == given[name.removeprefix("out_")].dtype


def test_all_outputs_come_when_none_is_named_in_the_models_order(client: Any) -> None:
    one = {kind: np.zeros((1, 2), np.dtype(kind.lower().replace("fp", "float"))) for kind in KINDS}
    one |= {"BOOL": np.zeros((1, 2), bool), "STRING": np.array([["a", "b"]], object)}
    assert list(client.ask("echo", one))[:2] == ["out_BOOL", "out_STRING"]
    assert list(client.ask("echo", one, outputs={"out_FP32": 0, "out_BOOL": 0})) == ["out_BOOL", "out_FP32"]


def test_classes_come_best_first_with_their_labels(client: Any) -> None:
    assert client.ask("newest", {"x": X}, outputs={"y": 2})["y"].tolist() == [
        [b"4.000000:0:low", b"3.500000:2:high"],
        [b"103.000000:2:high", b"6.000000:1:middle"],
    ]
    assert client.ask("newest", {"x": X}, outputs={"y": 99})["y"].shape == (2, 3)
    without = client.ask("unbatched", {"x": X}, outputs={"y": 2})["y"]
    assert without.tolist() == [b"101.000000:5", b"4.000000:4"]


def test_a_scalar_of_each_row_has_a_dimension_of_its_own(client: Any) -> None:
    assert client.ask("total", {"x": X})["s"].tolist() == [[-0.5], [103.0]]
    assert client.metadata("total")["outputs"][0]["shape"] in ([-1, 1], ["-1", "1"])


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"x": np.zeros((5, 3), np.float32)}, "max_batch_size 4|batch-size must be <= 4"),
        ({"x": np.zeros((0, 3), np.float32)}, "one row at least|byte size mismatch"),
        ({"x": np.zeros((2, 4), np.float32)}, r"\[2, ?4\]"),
        ({"x": np.zeros(3, np.float32)}, r"\[3\]"),
        ({"x": np.zeros((2, 3), np.float64)}, "FP64"),
        ({"x": np.array([["a", "b", "c"]], object)}, "BYTES"),
        ({"w": X}, "w"),
        ({"x": X, "w": X}, "w"),
        ({}, "x"),
    ],
    ids=["batch", "empty", "shape", "rank", "dtype", "strings", "name", "more", "none"],
)
def test_what_does_not_fit_is_refused(client: Any, inputs: dict[str, Any], words: str) -> None:
    status, told = client.refusal("newest", inputs)
    assert status in WRONG
    assert re.search(words, told), told
    assert np.array_equal(client.ask("newest", {"x": X})["y"], X + 3)


def test_an_output_that_is_not_there_is_refused(client: Any) -> None:
    status, told = client.refusal("newest", {"x": X}, outputs={"w": 0})
    assert status in WRONG
    assert "'w'" in told


def test_a_model_without_a_batch_takes_any_size(client: Any) -> None:
    assert client.ask("unbatched", {"x": np.zeros((9, 3), np.float32)})["y"].shape == (9, 3)


def test_models_that_are_not_there(client: Any) -> None:
    for name, version in (("nobody", ""), ("newest", "1"), ("newest", "7"), ("broken", "")):
        status, told = client.refusal(name, {"x": X}, version=version)
        assert status in MISSING
        assert name in told


@pytest.mark.parametrize(
    ("name", "served"), [("newest", ["3"]), ("every", ["1", "2", "3"]), ("some", ["1", "3"]), ("two", ["2", "3"])]
)
def test_versions_are_served_by_the_policy(client: Any, name: str, served: list[str]) -> None:
    assert {version for model, version in client.ready() if model == name} == set(served)
    assert client.metadata(name)["versions"] == served
    assert client.metadata(name, served[0])["versions"] == served[:1]
    for version in served:
        assert np.array_equal(client.ask(name, {"x": X}, version=version)["y"], X + int(version))
    assert np.array_equal(client.ask(name, {"x": X})["y"], X + 3)
    for version in {"1", "2", "3"} - set(served):
        assert client.refusal(name, {"x": X}, version=version)[0] in MISSING


def test_a_model_that_cannot_be_loaded_is_told_and_leaves_the_others(client: Any) -> None:
    for name in ("broken", "nobody"):
        with pytest.raises(Exception, match=name):
            client.inner.load_model(name)
        assert not client.inner.is_model_ready(name)
    assert client.inner.is_model_ready("newest")


async def test_what_is_unloaded_is_gone_until_it_is_loaded_again(client: Any) -> None:
    client.inner.unload_model("two")
    await eventually(lambda: not client.inner.is_model_ready("two"))
    assert client.refusal("two", {"x": X})[0] in MISSING
    assert "two" not in {name for name, _ in client.ready()}
    client.inner.unload_model("two")  # no mistake: it is gone
    client.inner.load_model("two")
    assert np.array_equal(client.ask("two", {"x": X})["y"], X + 3)
