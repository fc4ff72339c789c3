"""What no client library would send: every mistake is answered with a status and `{"error": …}`, and the server lives on."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.integration

GOOD = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": [1, 2, 3]}


def post(
    endpoint: str, body: bytes, headers: dict[str, str] | None = None, path: str = "v2/models/affine/infer"
) -> tuple[int, Any]:
    request = urllib.request.Request(f"http://{endpoint}/{path}", body, headers or {}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - our own server
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def infer(endpoint: str, **document: Any) -> tuple[int, Any]:
    return post(endpoint, json.dumps({"inputs": [GOOD], **document}).encode())


def test_json_as_curl_would_send_it(endpoint: str) -> None:
    status, answer = infer(endpoint)
    assert status == 200
    assert answer["outputs"][0] == {"name": "y", "datatype": "FP32", "shape": [1, 3], "data": [3.0, 5.0, 7.0]}


def test_nested_data_is_taken_too(endpoint: str) -> None:
    status, answer = infer(endpoint, inputs=[{**GOOD, "data": [[1, 2, 3]]}])
    assert (status, answer["outputs"][0]["data"]) == (200, [3.0, 5.0, 7.0])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "the request is not JSON"),
        (b"\xff\xfe", "the request is not JSON"),
        (b"[" * 100_000, "the request is not JSON"),
        (b"[]", "a request has a list `inputs`"),
        (b'{"inputs": 7}', "a request has a list `inputs`"),
        (b'{"inputs": [7]}', "every input has a name"),
        (b'{"inputs": []}', "the inputs are x, not none"),
    ],
)
def test_bodies_that_are_no_requests(endpoint: str, body: bytes, words: str) -> None:
    status, answer = post(endpoint, body)
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": ["1", "2", "3"]}, "not of numbers that fit FP32"),
        ({"data": [1, None, 3]}, "not of numbers that fit FP32"),
        ({"data": [True, False, True]}, "not of numbers that fit FP32"),
        ({"data": [1, 2]}, "does not fit"),
        ({"data": [[1, 2], [3]]}, "does not fit"),
        ({"data": None}, "has neither data nor binary_data_size"),
        ({"datatype": "INT32", "data": [1.5, 2, 3]}, "not of numbers that fit INT32"),
        ({"datatype": "UINT8", "data": [1, 2, 300]}, "outside of UINT8"),
        ({"datatype": "UINT8", "data": [-1, 2, 3]}, "outside of UINT8"),
        ({"datatype": "UINT64", "data": [-1, 2, 2**64 - 1]}, "not of numbers that fit UINT64"),
        ({"datatype": "UINT64", "data": [0.5, 2, 3]}, "not of numbers that fit UINT64"),
        ({"datatype": "UINT64", "data": [1, 2, 2**64]}, "not of numbers that fit UINT64"),
        ({"datatype": "BOOL", "data": [0, 1, 2]}, "not of numbers that fit BOOL"),
        ({"datatype": "FP99"}, "has datatype 'FP99', served are"),
        ({"datatype": ["FP32"]}, "has datatype ['FP32'], served are"),
        ({"shape": [1, -3]}, "has no usable shape"),
        ({"shape": [1, True, 3]}, "has no usable shape"),
        ({"shape": [2**40, 2**40]}, "has no usable shape"),
        ({"shape": "13"}, "has no usable shape"),
        ({"parameters": 5}, "`parameters` is an object"),
        ({"parameters": {"binary_data_size": 12}}, "has binary_data_size 12, and 0 bytes are there"),
        ({"parameters": {"binary_data_size": -12}}, "has binary_data_size -12"),
        ({"parameters": {"binary_data_size": "12"}}, "has binary_data_size 12"),
        ({"parameters": {"shared_memory_region": "mine"}}, "lies in shared memory, which is not served here"),
    ],
)
def test_inputs_that_are_none(endpoint: str, changes: dict[str, Any], words: str) -> None:
    status, answer = infer(endpoint, inputs=[{**GOOD, **changes}])
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"outputs": 5}, "`outputs` is a list of objects with a name"),
        ({"outputs": ["y"]}, "`outputs` is a list of objects with a name"),
        ({"outputs": [{"name": ["y"]}]}, "there is no output ['y']"),
        (
            {"outputs": [{"name": "y", "parameters": {"classification": "two"}}]},
            "cannot be classified into 'two' classes",
        ),
        ({"parameters": [1]}, "`parameters` is an object"),
        ({"inputs": [GOOD, GOOD]}, "input 'x' is there twice"),
        ({"inputs": [{**GOOD, "data": [3e38, 1, 1]}]}, "output 'y' holds NaN or infinity"),
    ],
)
def test_wishes_that_cannot_be_met(endpoint: str, document: dict[str, Any], words: str) -> None:
    status, answer = infer(endpoint, **document)
    assert status == 400
    assert words in answer["error"]


@pytest.mark.parametrize(
    ("length", "words"),
    [
        ("abc", "Inference-Header-Content-Length 'abc' does not fit"),
        ("100000", "Inference-Header-Content-Length '100000' does not fit"),
        ("-1", "Inference-Header-Content-Length '-1' does not fit"),
        ("3", "the request is not JSON"),
    ],
)
def test_lengths_that_are_wrong(endpoint: str, length: str, words: str) -> None:
    body = json.dumps({"inputs": [GOOD]}).encode()
    status, answer = post(endpoint, body, {"Inference-Header-Content-Length": length})
    assert status == 400
    assert words in answer["error"]


def test_bytes_that_nobody_asked_for(endpoint: str) -> None:
    tensor = np.ones(3, np.float32).tobytes()
    described = {"name": "x", "datatype": "FP32", "shape": [1, 3], "parameters": {"binary_data_size": 12}}
    header = json.dumps({"inputs": [described]}).encode()
    length = {"Inference-Header-Content-Length": str(len(header))}
    assert post(endpoint, header + tensor, length)[0] == 200
    status, answer = post(endpoint, header + tensor + b"more", length)
    assert (status, answer["error"]) == (400, "4 bytes are left behind the last input")


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_bodies_may_be_compressed(endpoint: str, pack: Callable[[bytes], bytes]) -> None:
    body = pack(json.dumps({"inputs": [GOOD]}).encode())
    encoding = "gzip" if pack is gzip.compress else "deflate"
    assert post(endpoint, body, {"Content-Encoding": encoding})[0] == 200
    status, answer = post(endpoint, body[:-5], {"Content-Encoding": encoding})
    assert (status, answer["error"]) == (400, f"the request is not whole {encoding}")
    status, answer = post(endpoint, b"no" + body, {"Content-Encoding": encoding})
    assert status == 400
    assert f"the request is not {encoding}" in answer["error"]


def test_an_encoding_that_is_not_known(endpoint: str) -> None:
    status, answer = post(endpoint, b"{}", {"Content-Encoding": "br"})
    assert (status, answer["error"]) == (400, "Content-Encoding 'br' is not served here, only gzip and deflate")


def test_what_is_too_large_is_refused_also_when_it_is_packed(serve: Callable[..., Any], affine_server: Any) -> None:
    small = serve(affine_server.folder, "--request-mib", "1").http
    told = (413, {"error": "a request has 1048576 bytes at most"})
    assert post(small, b" " * (2**20 + 1)) == told
    assert post(small, gzip.compress(b" " * 2**28), {"Content-Encoding": "gzip"}) == told
    assert infer(small)[0] == 200


def test_paths_that_are_not_there(endpoint: str) -> None:
    assert post(endpoint, b"{}", path="v2/nothing") == (404, {"error": "POST /v2/nothing is not served here"})
    assert post(endpoint, b"{}", path="v2/models/affine")[0] == 405
    assert post(endpoint, b"{}", path="v2/repository/models/..%2F..%2Fetc/load")[0] == 404


def test_the_server_has_outlived_all_that(endpoint: str) -> None:
    assert infer(endpoint)[0] == 200
