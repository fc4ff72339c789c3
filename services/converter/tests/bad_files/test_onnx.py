"""ONNX models that are broken or mean harm: refused or ended by the limits of the sandbox, in one clear line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter.adapters import check
from trainyard.converter.adapters.check import CheckRequest
from trainyard.converter.adapters.sandbox import Limits
from trainyard.converter.core import ladder
from trainyard.converter.ports import ExportFault, ModelFault

pytestmark = pytest.mark.integration

FLOAT = TensorProto.FLOAT
Make = Callable[[], bytes]


def model(
    nodes: Sequence[onnx.NodeProto],
    weights: Sequence[onnx.TensorProto] = (),
    *,
    opset: int = 17,
    domain: str = "",
    x: str = "x",
    shape: Sequence[Any] = ("batch", 3),
    rank: int = 0,
) -> bytes:
    """From `x` to `y`, of these nodes and weights."""
    free = [f"y_{at}" for at in range(rank or len(shape))]
    values = [helper.make_tensor_value_info(x, FLOAT, shape), helper.make_tensor_value_info("y", FLOAT, free)]
    graph = helper.make_graph(list(nodes), "graph", values[:1], values[1:], list(weights))
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def node(kind: str, inputs: str = "x", outputs: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(" "), outputs.split(" "), **attributes)


def constant(name: str, *values: int, dims: Sequence[int] | None = None) -> onnx.TensorProto:
    kind = TensorProto.INT64
    return helper.make_tensor(name, kind, [len(values)] if dims is None else dims, values)


def claimed(*dims: int) -> bytes:
    """x + w, where w has twelve bytes and says that it has `dims`."""
    w = TensorProto(name="w", data_type=FLOAT, dims=dims, raw_data=bytes(12))
    return model([node("Add", "x w")], [w])


def terabytes() -> bytes:
    """Half of x, after folding a constant of 4 TiB."""
    size = constant("size", 2**20, 2**20)
    return model(
        [node("ConstantOfShape", "size", "big"), node("ReduceMax", "big", "zero"), node("Add", "x zero")], [size]
    )


def enlarged() -> bytes:
    scales = helper.make_tensor("scales", FLOAT, [4], [1, 1, 1e6, 1e6])
    return model([node("Resize", "x  scales", mode="nearest")], [scales], shape=("batch", 1, 8, 8))


def endless() -> bytes:
    """A loop whose condition is never false."""
    values = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", 7), ("go", 9), ("on", 9))]
    before, after = (helper.make_tensor_value_info(name, FLOAT, None) for name in ("before", "after"))
    steps = [node("Identity", "go", "on"), node("Neg", "before", "after")]
    body = helper.make_graph(steps, "body", [*values[:2], before], [values[2], after])
    weights = [constant("most", 2**62, dims=[]), helper.make_tensor("true", TensorProto.BOOL, [], [True])]
    return model([node("Loop", "most true x", body=body)], weights)


def growing() -> bytes:
    """A loop that keeps a copy of x for each of its rounds."""
    scalars = [helper.make_tensor_value_info(name, kind, []) for name, kind in (("i", 7), ("go", 9), ("on", 9))]
    kept = helper.make_tensor_value_info("kept", FLOAT, None)
    body = helper.make_graph(
        [node("Identity", "go", "on"), node("Identity", "x", "kept")], "body", scalars[:2], [scalars[2], kept]
    )
    weights = [constant("most", 2**62, dims=[]), helper.make_tensor("true", TensorProto.BOOL, [], [True])]
    return model([node("Loop", "most true", "y", body=body)], weights, rank=3)


def field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message, as bytes: what is nested deeper than its library takes can be written by hand alone."""
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def nested() -> bytes:
    """Ten thousand bodies of loops, each inside the one before: graph.node.attribute.g.node …"""
    inner = b""
    for _ in range(10_000):
        inner = field(1, field(5, field(6, inner)))
    return field(7, inner)


def cyclic() -> bytes:
    return model([node("Add", "x b", "a"), node("Add", "a x", "b"), node("Identity", "b")])


def whole() -> bytes:
    return model([node("Relu")], [numpy_helper.from_array(np.zeros(1000, np.float32), "w")])


def nothing() -> bytes:
    """No rows of x: whatever runs it computes the same."""
    return model([node("Slice", "x zero zero one")], [constant("zero", 0), constant("one", 1)])


def repeated() -> bytes:
    """Thirty steps that each put ten copies of the last one in a row."""
    nodes = [node("Concat", " ".join([f"a{i}"] * 10), f"a{i + 1}", axis=1) for i in range(30)]
    return model([node("Identity", "x", "a0"), *nodes, node("Identity", "a30")])


BAD: dict[str, tuple[Make, str]] = {
    "a dimension of 2**62": (lambda: claimed(2**62), "Op (Add) [ShapeInferenceError] Incompatible dimensions"),
    "dimensions whose product wraps to 3": (
        lambda: claimed(2**32, 2**32, 3),
        "cannot be read as ONNX: Integer overflow",
    ),
    "a negative dimension": (lambda: claimed(-3), "Out of bounds dimensions"),
    "weights of fewer bytes than they say": (
        lambda: claimed(1000),
        "Op (Add) [ShapeInferenceError] Incompatible dimensions",
    ),
    "an input with an absurd dimension": (
        lambda: model([node("Relu")], shape=("batch", 2**62)),
        "convert.inputs: input 'x' (float32, [-1, 4611686018427387904]) cannot be converted",
    ),
    "an input with large dimensions": (
        lambda: model([node("Relu")], shape=("batch", 2**20, 2**20)),
        "inputs of a batch of 32 take 128.0 TiB, the most is 1.0 GiB (smaller",
    ),
    "an input with fifty dimensions": (lambda: model([node("Relu")], shape=["batch"] + [1] * 50), "at most 8 items"),
    "a constant of terabytes": (
        terabytes,
        "running ConstantOfShape node. Name:'' Status Message: Failed to allocate memory",
    ),
    "a picture enlarged a million times": (
        enlarged,
        "running Resize node. Name:'' Status Message: Failed to allocate memory",
    ),
    "an input of nothing": (lambda: model([node("Relu")], shape=("batch", 0)), "'x' has a dimension of 0"),
    "an output of nothing": (nothing, "every output is empty on all inputs, so there is nothing to compare"),
    "copies of copies": (repeated, "Integer overflow computing Concat output length"),
    "ten thousand graphs inside one another": (nested, "cannot be read as ONNX: Error parsing message"),
    "a circle": (cyclic, "cannot be read as ONNX: the graph is not acyclic"),
    "an operator that nobody knows": (lambda: model([node("Explode")]), "No Op registered for Explode"),
    "a domain that nobody knows": (
        lambda: model([node("Relu", domain="evil")], domain="evil"),
        "evil:Relu(-1) is not a registered function/op",
    ),
    "an operator set of the future": (lambda: model([node("Relu")], opset=999), "is written in opset 999"),
    "an operator set before the first": (
        lambda: model([node("Relu")], opset=-5),
        "No Op registered for Relu with domain_version of -5",
    ),
    "a name that leads out of a folder": (
        lambda: model([node("Relu", "../../x")], x="../../x"),
        "convert.inputs: input '../../x' (float32, [-1, 3]) cannot be converted",
    ),
    "a name of two lines": (
        lambda: model([node("Relu", "a\nb")], x="a\nb"),
        "the model has a name that cannot be shown, 'a\\nb': give it another",
    ),
    "a name with a NUL": (
        lambda: model([node("Relu", "a\0b")], x="a\0b"),
        "the model has a name that cannot be shown, 'a\\x00b': give it another",
    ),
    "half a file": (lambda: whole()[: len(whole()) // 2], "cannot be read as ONNX: Error parsing message"),
    "a length beyond the end": (
        lambda: b"\x3a\xff\xff\xff\xff\x07" + whole(),
        "cannot be read as ONNX: Error parsing message",
    ),
    "nothing goes out": (
        lambda: onnx.ModelProto(ir_version=8).SerializeToString(),
        "cannot be read as ONNX: No graph was found",
    ),
    "zeros": (lambda: bytes(10_000), "cannot be read as ONNX: Error parsing message"),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_bad_onnx_model_is_refused(given: Path, refusal: Any, kind: str) -> None:
    make, words = BAD[kind]
    (given / "net.onnx").write_bytes(make())
    assert words in await refusal("net.onnx")


ENDLESS: dict[str, tuple[Make, str]] = {
    "a loop without end": (endless, "the model was ended: it took longer than 4.0 s"),
    "a loop that keeps everything": (growing, "the model was ended: it "),
}


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_endless_onnx_model_is_ended(given: Path, refusal: Any, kind: str) -> None:
    make, words = ENDLESS[kind]
    (given / "net.onnx").write_bytes(make())
    assert words in await refusal("net.onnx", limits=Limits(seconds=4, memory=2**30))


async def checked(folder: Path, content: bytes) -> str:
    """What is said of the same model where an exporter has written it."""
    (folder / "model.onnx").write_bytes(content)
    cases = {"random, batch 1": {"x": np.ones((1, 3), np.float32)}}
    request = CheckRequest(folder / "model.onnx", cases, {"x"}, ladder.Limits(20, 10), folder / "check")
    with pytest.raises((ModelFault, ExportFault)) as caught:
        await check.run(request, Limits(seconds=4, memory=2**30))
    return str(caught.value)


EXPORTED: dict[str, tuple[Make, str]] = {
    "a loop without end": (endless, "what was exported was ended: it took longer than 4.0 s"),
    "a constant of terabytes": (terabytes, "Failed to allocate memory"),
    "no protobuf": (lambda: b"nonsense", "the exporter wrote an invalid model: Error parsing message"),
    "ten thousand graphs": (nested, "the exporter wrote an invalid model: Error parsing message"),
    "a fixed batch": (lambda: model([node("Relu")], shape=(2, 3)), "the batch of x became a constant"),
    "a set beyond the runtime's": (lambda: model([node("Relu")], opset=25), "wrote opset 25, the runtime takes 20"),
}


@pytest.mark.parametrize("kind", EXPORTED)
async def test_what_was_exported_is_run_within_limits_too(given: Path, kind: str) -> None:
    make, words = EXPORTED[kind]
    assert words in await checked(given, make())


async def test_an_output_that_stays_empty_beside_others_is_told(given: Path, convert_file: Any) -> None:
    whole = onnx.load_from_string(nothing())
    whole.graph.node.append(node("Relu", "x", "z"))
    whole.graph.output.append(helper.make_tensor_value_info("z", FLOAT, ["batch", 3]))
    onnx.save(whole, given / "net.onnx")
    proven = await convert_file("net.onnx")
    assert "output 'y' is empty on all inputs, so nothing of it was compared" in proven.report.notes
