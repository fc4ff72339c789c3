"""gRPC messages that no client library would send: each is answered with a status and a sentence, and the server lives on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from trainyard.common.loopback import free_port

pytestmark = pytest.mark.integration

X = np.array([[1.0, -2.0, 0.5]], np.float32)
Y = (2 * X + 1).tobytes()


@pytest.fixture(scope="module")
def stub(affine_server: Any) -> Iterator[Any]:
    with grpc.insecure_channel(affine_server.grpc) as channel:
        yield service_pb2_grpc.GRPCInferenceServiceStub(channel)


def request(raw: list[bytes] | None = None, datatype: str = "FP32", name: str = "x", **contents: Any) -> Any:
    """One input of shape [1, 3]."""
    made = pb.ModelInferRequest(model_name="affine", raw_input_contents=raw or [])
    item = made.inputs.add(name=name, datatype=datatype, shape=[1, 3])
    if contents:
        item.contents.CopyFrom(pb.InferTensorContents(**contents))
    return made


def refusal(stub: Any, message: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        stub.ModelInfer(message, timeout=20)
    assert stub.ServerLive(pb.ServerLiveRequest(), timeout=20).live
    return caught.value.code(), caught.value.details()  # type: ignore[attr-defined]


@pytest.mark.parametrize("message", [request([X.tobytes()]), request(fp32_contents=[1, -2, 0.5])], ids=["raw", "typed"])
def test_tensors_come_raw_or_typed(stub: Any, message: Any) -> None:
    answer = stub.ModelInfer(message)
    assert answer.raw_output_contents[0] == Y
    assert [item.name for item in answer.outputs] == ["y", "z"]


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (request([X.tobytes(), b""]), "raw_input_contents has 2 tensors, the request has 1 inputs"),
        (request([X.tobytes()], fp32_contents=[1, 2, 3]), "has `contents`, and raw_input_contents are there as well"),
        (request([b"1234567"]), "input 'x' has 7 bytes, its shape and datatype need 12"),
        (request(fp32_contents=[1, 2]), "input 'x' has 2 values in fp32_contents, its shape needs 3"),
        (request(), "input 'x' has 0 values in fp32_contents, its shape needs 3"),
        (request(int_contents=[1, 2, 3]), "its contents are in fp32_contents, not in int_contents"),
        (request(datatype="FP16", fp32_contents=[1, 2, 3]), "is FP16, which has no typed contents"),
        (request(datatype="INT8", int_contents=[1, 2, 300]), "values of input 'x' are outside of INT8"),
        (request(datatype="UINT8", uint_contents=[1, 2, 300]), "values of input 'x' are outside of UINT8"),
        (request(datatype="INT64", int64_contents=[1, 2, 2**62]), "input 'x' is INT64, FP32 is needed"),
        (request(datatype="BYTES", bytes_contents=[b"a", b"b"]), "input 'x' has 2 strings, its shape needs 3"),
        (request(datatype="BYTES", bytes_contents=[b"a", b"b", b"\xff"]), "a string of input 'x' is not UTF-8"),
        (request([b"\x05\x00\x00\x00abc"], datatype="BYTES"), "the last string of input 'x' is cut off"),
        (request([b"\x05\x00"], datatype="BYTES"), "the last string of input 'x' is cut off"),
        (request([X.tobytes()], datatype="BF16"), "input 'x' has datatype 'BF16', served are BOOL"),
        (pb.ModelInferRequest(model_name="affine"), "the inputs are x, not none"),
    ],
)
def test_requests_that_are_none(stub: Any, message: Any, words: str) -> None:
    status, told = refusal(stub, message)
    assert status is grpc.StatusCode.INVALID_ARGUMENT
    assert words in told


def test_an_input_that_is_there_twice(stub: Any) -> None:
    message = request([X.tobytes(), X.tobytes()])
    message.inputs.add(name="x", datatype="FP32", shape=[1, 3])
    assert refusal(stub, message) == (grpc.StatusCode.INVALID_ARGUMENT, "input 'x' is there twice")


def test_shared_memory_is_refused_with_what_to_do(stub: Any) -> None:
    message = request()
    message.inputs[0].parameters["shared_memory_region"].string_param = "mine"
    assert "lies in shared memory, which is not served here: send it along" in refusal(stub, message)[1]


def test_methods_that_are_not_served_say_so(stub: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        stub.SystemSharedMemoryStatus(pb.SystemSharedMemoryStatusRequest(), timeout=20)
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED  # type: ignore[attr-defined]


def test_a_stream_outlives_the_mistakes_in_it(stub: Any) -> None:
    good = request([X.tobytes()])
    last = request([X.tobytes()])
    last.id = "last"
    last.parameters["triton_enable_empty_final_response"].bool_param = True
    answers = list(stub.ModelStreamInfer(iter([good, request([b"1"]), last]), timeout=20))
    assert [item.error_message for item in answers] == ["", "input 'x' has 1 bytes, its shape and datatype need 12", ""]
    assert [item.infer_response.raw_output_contents[:1] for item in answers] == [[Y], [], [Y]]
    assert answers[2].infer_response.id == "last"
    assert answers[2].infer_response.parameters["triton_final_response"].bool_param


def test_statistics_count_rows_runs_and_failures(stub: Any) -> None:
    def counted() -> tuple[int, int]:
        (found,) = stub.ModelStatistics(pb.ModelStatisticsRequest(name="affine")).model_stats
        return found.inference_count, found.execution_count

    rows, runs = counted()
    message = pb.ModelInferRequest(model_name="affine", raw_input_contents=[X.tobytes() * 2])
    message.inputs.add(name="x", datatype="FP32", shape=[2, 3])
    stub.ModelInfer(message)
    assert counted() == (rows + 2, runs + 1)


def test_a_request_above_the_limit_is_refused_by_both(serve: Any, affine_server: Any) -> None:
    small = serve(affine_server.folder, "--request-mib", "1")
    with grpc.insecure_channel(small.grpc) as channel:
        status, told = refusal(service_pb2_grpc.GRPCInferenceServiceStub(channel), request([b"x" * 2**20]))
    assert status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "larger than max" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--host", "0.0.0.0"], "0.0.0.0 can be reached from other machines"),  # noqa: S104 - refused
        (["--request-mib", "4096"], "--request-mib 4096 is out of range: 1 to 2047"),
        (["--repository", "/nowhere"], "there is no folder /nowhere"),
    ],
)
def test_starts_that_are_refused(run_server: Any, affine_server: Any, options: list[str], words: str) -> None:
    code, said = run_server("--repository", str(affine_server.folder), "--port", str(free_port()), *options)
    assert code == 2
    assert words in said


def test_a_port_for_grpc_that_is_taken_is_said(run_server: Any, affine_server: Any) -> None:
    taken = affine_server.grpc.rpartition(":")[2]
    code, said = run_server(
        "--repository", str(affine_server.folder), "--port", str(free_port()), "--grpc-port", taken, "--explicit"
    )
    assert code == 2
    assert f"cannot listen on 127.0.0.1:{taken} for gRPC: choose another --grpc-port, or 0 for none" in said
