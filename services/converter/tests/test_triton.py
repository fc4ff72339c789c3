"""Triton's rules on what we write, and the repository on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import repository
from trainyard.converter.core.ladder import Limits, limits, rungs
from trainyard.converter.core.triton import ModelConfig, Tensor, check, configure

IMAGE = Tensor("image", "float32", (-1, 1, 8, 8))
LOGITS = Tensor("logits", "float32", (-1, 10))


def test_batching_only_where_everything_has_a_free_batch() -> None:
    batched = configure("m", [IMAGE], [LOGITS], largest_batch=32, labels=["a"])
    assert (batched.max_batch_size, batched.inputs[0].shape, batched.outputs[0].shape) == (32, (1, 8, 8), (10,))
    for other in (Tensor("o", "float32", (1, 10)), Tensor("o", "float32", (-1,)), Tensor("o", "float32", ())):
        fixed = configure("m", [IMAGE], [other], largest_batch=32, labels=[])
        assert (fixed.max_batch_size, fixed.inputs[0].shape) == (0, (-1, 1, 8, 8))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (ModelConfig("a/b", 0, (IMAGE,), (LOGITS,)), "not a name of a model"),
        (ModelConfig("m", 0, (), (LOGITS,)), "an input and an output"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("image", "float32", (1,)),)), "there twice"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("c", "complex64", (1,)),)), "no type for complex64"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("s", "float32", ()),)), "may not be empty"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("z", "float32", (0,)),)), "neither −1 nor above 0"),
        (ModelConfig("m", -1, (IMAGE,), (LOGITS,)), "0 or more"),
        (ModelConfig("m", 0, (IMAGE,), (LOGITS,), ("a\nb",)), "one line"),
    ],
)
def test_what_triton_would_refuse_is_refused_before(config: ModelConfig, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        check(config)


def test_versions_are_added_and_the_file_is_tritons_own(tmp_path: Path) -> None:
    onnx = tmp_path / "model.onnx"
    onnx.write_bytes(b"first")
    config = configure("m", [IMAGE], [LOGITS], largest_batch=4, labels=["zero", "one"])
    assert repository.write(tmp_path / "r", config, onnx) == 1
    onnx.write_bytes(b"second")
    assert repository.write(tmp_path / "r", config, onnx) == 2
    assert (tmp_path / "r/m/1/model.onnx").read_bytes() == b"first"
    assert (tmp_path / "r/m/2/model.onnx").read_bytes() == b"second"
    assert (tmp_path / "r/m/labels.txt").read_text() == "zero\none\n"
    parsed: Any = text_format.Parse((tmp_path / "r/m/config.pbtxt").read_text(), model_config_pb2.ModelConfig())
    assert (parsed.name, parsed.max_batch_size, list(parsed.input[0].dims)) == ("m", 4, [1, 8, 8])
    assert parsed.output[0].label_filename == "labels.txt"
    assert parsed.HasField("dynamic_batching")
    assert sorted(item.name for item in (tmp_path / "r/m").iterdir()) == ["1", "2", "config.pbtxt", "labels.txt"]


def test_the_operator_set_comes_from_the_runtime() -> None:
    assert limits("1.32.0") == limits("1.18.0") == Limits(20, 10)
    assert limits("1.14.1") == Limits(18, 8)
    assert [(rung.exporter, rung.opset) for rung in rungs(None, Limits(20, 10))] == [
        ("dynamo", 20), ("dynamo", 18), ("torchscript", 17),
    ]  # fmt: skip
    assert [(rung.exporter, rung.opset) for rung in rungs(13, Limits(20, 10))] == [("torchscript", 13)]
    assert rungs(25, Limits(20, 10))[0].describe() == "dynamo exporter, opset 20"
