"""What `yard convert` asks for, from a job file and from a model with options beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainyard.client.converting import conversion, name_of, tensor
from trainyard.common.contract.conversions import ConversionSpec
from trainyard.common.contract.explain import validate
from trainyard.common.errors import InvalidInput


def test_a_model_is_enough(tmp_path: Path) -> None:
    model = tmp_path / "My Net.v2.keras"
    model.touch()
    asked = validate(ConversionSpec, conversion(model, {"to": None, "trust": None}))
    assert (asked.artifacts, asked.convert.weights, asked.convert.name) == (str(tmp_path), model.name, "my-net-v2")
    assert asked.convert.to == ("onnx", "triton")


def test_what_is_said_beside_it_counts(tmp_path: Path) -> None:
    model = tmp_path / "net.pt"
    model.touch()
    said = {"to": ["onnx"], "model": "net:build", "inputs": [tensor("x:float32:batch,3,-1")], "trust": True}
    block = validate(ConversionSpec, conversion(model, said)).convert
    assert (block.to, block.model, block.trust) == (("onnx",), "net:build", True)
    assert block.inputs[0].shape == ("batch", 3, -1)


def test_a_job_file_keeps_its_block_but_for_what_is_said(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(
        "name: digits\nframework: pytorch\ncommand: x\nconvert: {model: 'model:build'}\n"
    )
    for path in (tmp_path, tmp_path / "job.yaml"):
        asked = conversion(path, {"name": "other"})
        assert asked["convert"] == {"name": "other", "model": "model:build"}
        assert asked["artifacts"] == str(tmp_path)


def test_json_is_a_model_unless_it_asks_for_a_conversion(tmp_path: Path) -> None:
    trees, job = tmp_path / "trees.json", tmp_path / "conversion.json"
    trees.write_text('{"learner": {}}')
    job.write_text('{"name": "a", "convert": {"weights": "trees.json"}}')
    assert conversion(trees, {})["convert"]["weights"] == "trees.json"
    assert conversion(job, {})["convert"] == {"name": "a", "weights": "trees.json"}


def test_a_name_may_hold_a_colon_as_those_of_tensorflow_do() -> None:
    assert tensor("serving_default_x:0:float32:batch,3")["name"] == "serving_default_x:0"


@pytest.mark.parametrize("text", ["x", "x:float32", "x::batch", "x:float32:batch,three", "x:float32:²"])
def test_an_input_that_nobody_can_read(text: str) -> None:
    with pytest.raises(InvalidInput, match="--input"):
        tensor(text)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no model and no job file at"):
        conversion(tmp_path / "none.onnx", {})
    (tmp_path / "job.yaml").write_text("name: digits\n")
    with pytest.raises(InvalidInput, match="has no `convert:` block"):
        conversion(tmp_path / "job.yaml", {})


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("ResNet50_V2.h5", "resnet50-v2"),
        ("saved", "saved"),
        ("...", "model"),
        ("ü.onnx", "model"),
        ("a" * 60, "a" * 40),
    ],
)
def test_names(file: str, name: str) -> None:
    assert name_of(Path(file)) == name
