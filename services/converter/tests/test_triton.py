"""Triton's configuration: what is written, what is refused before Triton would, and how versions come to be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters import repository
from trainyard.converter.core import triton
from trainyard.converter.core.triton import ModelConfig, Tensor

IMAGE = Tensor("image", "float32", (-1, 1, 8, 8))
LOGITS = Tensor("logits", "float32", (-1, 10))
DIGITS = tuple("0123456789")


def test_a_batched_model() -> None:
    config = triton.configure("digits", [IMAGE], [LOGITS], max_batch=32, labels=DIGITS)
    assert config == ModelConfig(
        "digits", 32, (Tensor("image", "float32", (1, 8, 8)),), (Tensor("logits", "float32", (10,)),), DIGITS
    )
    assert repository.to_text(config) == (
        'name: "digits"\n'
        'platform: "onnxruntime_onnx"\n'
        "version_policy {\n  latest {\n    num_versions: 1\n  }\n}\n"
        "max_batch_size: 32\n"
        'input {\n  name: "image"\n  data_type: TYPE_FP32\n  dims: 1\n  dims: 8\n  dims: 8\n}\n'
        'output {\n  name: "logits"\n  data_type: TYPE_FP32\n  dims: 10\n  label_filename: "labels.txt"\n}\n'
        "instance_group {\n  count: 1\n  kind: KIND_CPU\n}\n"
        "dynamic_batching {\n}\n"
    )


@pytest.mark.parametrize(
    ("inputs", "outputs", "max_batch"),
    [
        ([Tensor("image", "float32", (1, 1, 8, 8))], [LOGITS], 32),  # Triton server#1889: the batch is fixed
        ([IMAGE], [Tensor("score", "float32", (10,))], 32),  # #7462: an output without −1
        ([IMAGE], [LOGITS], 0),  # rows change each other
        ([IMAGE], [LOGITS], 1),  # no larger batch was proven
    ],
)
def test_without_a_proven_batch_dims_are_the_whole_shape(
    inputs: list[Tensor], outputs: list[Tensor], max_batch: int
) -> None:
    config = triton.configure("m", inputs, outputs, max_batch=max_batch)
    assert config == ModelConfig("m", 0, tuple(inputs), tuple(outputs))
    text = repository.to_text(config)
    assert "dynamic_batching" not in text
    assert text.endswith("max_batch_size: 0\n")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ModelConfig("../m", 0, (IMAGE,), (LOGITS,)), "'../m' is not a name of a model"),
        (ModelConfig("m", 0, (), (LOGITS,)), "a model has an input and an output at least"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("image", "float32", (1,)),)), "'image' is there twice"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("y", "float32", ()),)), "y: dims may not be empty"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("y", "float32", (0,)),)), "dimension 0 is neither −1 nor above 0"),
        (ModelConfig("m", 0, (IMAGE,), (Tensor("y", "complex64", (1,)),)), "Triton has no type for complex64"),
        (ModelConfig("m", -1, (IMAGE,), (LOGITS,)), "max_batch_size is 0 or more"),
        (ModelConfig("m", 0, (IMAGE,), (LOGITS,), ("a\nb",) * 10), "a label is one line"),
        (ModelConfig("m", 0, (IMAGE,), (LOGITS,), ("a", "b")), "there are 2 labels, but 10 classes in output 'logits'"),
    ],
)
def test_what_triton_would_refuse(config: ModelConfig, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        repository.to_text(config)
    assert words in str(caught.value)


def config() -> ModelConfig:
    return triton.configure("digits", [IMAGE], [LOGITS], max_batch=32, labels=DIGITS)


def onnx(tmp_path: Path, content: bytes = b"one") -> Path:
    file = tmp_path / "some.onnx"
    file.write_bytes(content)
    return file


def test_one_number_for_each_row_has_a_dimension_of_its_own() -> None:
    config = triton.configure("m", [IMAGE], [Tensor("label", "int64", (-1,)), LOGITS], max_batch=32, labels=DIGITS)
    assert config.max_batch_size == 32
    text = repository.to_text(config)
    assert 'name: "label"\n  data_type: TYPE_INT64\n  dims: 1\n  reshape {\n  }\n}' in text
    assert text.index("label_filename") > text.index('name: "logits"')


def test_versions_are_added_and_never_written_over(tmp_path: Path) -> None:
    models = tmp_path / "models"
    assert repository.write(models, config(), onnx(tmp_path, b"one")) == 1
    assert repository.write(models, config(), onnx(tmp_path, b"two")) == 2
    folder = models / "digits"
    assert [(folder / name / "model.onnx").read_bytes() for name in "12"] == [b"one", b"two"]
    assert (folder / "labels.txt").read_text().splitlines() == list(DIGITS)
    assert sorted(item.name for item in folder.iterdir()) == ["1", "2", "config.pbtxt", "labels.txt"]


def test_one_origin_makes_one_version(tmp_path: Path) -> None:
    models, file = tmp_path / "models", onnx(tmp_path)
    assert [repository.write(models, config(), file, origin) for origin in ("a", "b", "a", "b")] == [1, 2, 1, 2]


def test_what_triton_does_not_count_is_not_counted(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "digits"
    for name in ("007", "7a", "٣", "4"):
        (folder / name).mkdir(parents=True)
    assert repository.versions(folder) == [4]
    assert repository.write(tmp_path / "models", config(), onnx(tmp_path)) == 5


def test_converters_that_publish_at_once_get_versions_of_their_own(tmp_path: Path) -> None:
    file = onnx(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: repository.write(tmp_path / "models", config(), file), range(24)))
    assert sorted(found) == list(range(1, 25))
    leftovers = [item.name for item in (tmp_path / "models" / "digits").iterdir() if item.name.startswith(".")]
    assert leftovers == []
