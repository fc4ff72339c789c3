"""What a configuration asks for is honoured, noted or refused; no socket, the models are real."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from trainyard.common.errors import InvalidInput, NotFound
from trainyard.converter.serving.repository import Repository
from trainyard.converter.serving.response_cache import ResponseCache, key_of

X = np.array([[1.0, -2.0, 0.5]], np.float32)
BODY = """
max_batch_size: 4
input { name: "x" data_type: TYPE_FP32 dims: 3 }
output { name: "y" data_type: TYPE_FP32 dims: 3 }
output { name: "z" data_type: TYPE_FP64 dims: 3 }
"""
Load = Callable[..., Repository]


@pytest.fixture
def load(tmp_path: Path, affine_file: Path) -> Load:
    """A repository whose model `affine` has this configuration, loaded."""

    def run(more: str = "", body: str = BODY, platform: str = "onnxruntime_onnx", **files: bytes) -> Repository:
        folder = tmp_path / "models" / "affine"
        (folder / "1").mkdir(parents=True, exist_ok=True)
        shutil.copy(affine_file, folder / "1" / "model.onnx")
        for name, content in files.items():
            (folder / "warmup").mkdir(exist_ok=True)
            (folder / "warmup" / name).write_bytes(content)
        (folder / "config.pbtxt").write_text(f'name: "affine"\nplatform: "{platform}"\n{body}\n{more}')
        repository = Repository(tmp_path / "models")
        repository.load("affine")
        return repository

    return run


@pytest.mark.parametrize(
    ("more", "note"),
    [
        ("dynamic_batching { }", "requests are not merged into batches here"),
        ("instance_group { count: 4 }", "a model has one instance here, on the CPU"),
        ("optimization { graph { level: 1 } }", "optimization counts under Triton alone"),
        ('parameters { key: "a" value { string_value: "b" } }', "parameters counts under Triton alone"),
    ],
)
def test_what_only_changes_the_speed_is_noted(load: Load, more: str, note: str) -> None:
    model = load(more).get("affine")
    assert model.configuration.notes == (note,)
    assert np.array_equal(model.infer({"x": X})["y"], 2 * X + 1)


def test_nothing_is_noted_where_all_is_honoured(load: Load) -> None:
    assert load("version_policy { all {} } response_cache { enable: true }").get("affine").configuration.notes == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"more": "sequence_batching { }"}, "sequence_batching of affine is not served here: a sequence has a state"),
        ({"more": 'model_operations { op_library_filename: "a.so" }'}, "custom operators are libraries"),
        ({"more": 'model_repository_agents { agents { name: "a" } }'}, "agents change what lies in the repository"),
        ({"more": "model_transaction_policy { decoupled: true }"}, "affine is decoupled"),
        ({"more": 'default_model_filename: "../2/model.onnx"'}, "is no file of a version's folder"),
        (
            {"more": "version_policy { specific { versions: 7 } }"},
            "no version that its version_policy asks for: there are 1",
        ),
        ({"more": "nonsense { }"}, "config.pbtxt of affine cannot be read"),
        (
            {"platform": "tensorrt_plan"},
            "platform 'tensorrt_plan' is not served here, only onnxruntime_onnx and ensemble",
        ),
        ({"body": BODY.replace("FP64", "BF16")}, "TYPE_BF16 is not served here"),
        ({"body": BODY.replace('"z"', '"y"')}, "config.pbtxt has the output 'y' twice"),
        ({"body": BODY.replace('"z"', '"w"')}, "config.pbtxt has the outputs y, w, the model has y, z"),
        ({"body": BODY.replace("dims: 3 }", "dims: 3 optional: true }", 1)}, "input 'x' is not served here: optional"),
        (
            {"body": BODY.replace("TYPE_FP64", 'TYPE_FP64 label_filename: "none.txt"')},
            "the labels 'none.txt' cannot be read",
        ),
        (
            {"body": BODY.replace("TYPE_FP64", 'TYPE_FP64 label_filename: "../a"')},
            "the labels '../a' lie outside of the model's folder",
        ),
    ],
)
def test_what_would_change_the_answers_is_refused(load: Load, changes: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(**changes)
    assert words in str(caught.value)


def test_a_model_that_answers_otherwise_than_it_is_configured_is_not_passed_off(load: Load) -> None:
    model = load(body=BODY.replace("TYPE_FP64 dims: 3", "TYPE_FP64 dims: 4")).get("affine")
    with pytest.raises(InvalidInput, match=r"answers 'z' as FP64 \[1, 3\], its configuration says FP64 \[-1, 4\]"):
        model.infer({"x": X})
    assert (model.statistics.successes, model.statistics.failures) == (0, 1)


def warmup(what: str, batch: int = 2, name: str = "x") -> str:
    item = f'inputs {{ key: "{name}" value {{ data_type: TYPE_FP32 dims: 3 {what} }} }}'
    return f'model_warmup {{ name: "first" batch_size: {batch} count: 3 {item} }}'


@pytest.mark.parametrize("what", ["zero_data: true", "random_data: true", 'input_data_file: "row"'])
def test_a_model_is_warm_before_it_is_asked(load: Load, what: str) -> None:
    model = load(warmup(what), row=X.tobytes()).get("affine")
    assert model.statistics.executions == 0  # they count what clients ask


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (warmup("zero_data: true", batch=5), "its warm-up 'first' fails: batch 5 is above max_batch_size 4"),
        (warmup("zero_data: true", name="w"), "its warm-up 'first' fails: the inputs are x, not w"),
        (warmup('input_data_file: "none"'), "its warm-up 'first' wants warmup/none, which is not there"),
        (warmup('input_data_file: "../config.pbtxt"'), "which is not there"),
        (warmup('input_data_file: "row"'), "input 'x' has 4 bytes, its shape and datatype need 12"),
        (warmup("zero_data: true").replace("dims: 3", "dims: -1"), "has no usable dims for 'x': [-1]"),
    ],
)
def test_a_model_whose_warm_up_fails_is_not_served(load: Load, more: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(more, row=b"1234")
    assert words in str(caught.value)


def test_a_failed_load_leaves_what_was_served(load: Load) -> None:
    repository = load()
    config = repository.folder / "affine" / "config.pbtxt"
    config.write_text(config.read_text() + warmup("zero_data: true", batch=5))
    with pytest.raises(InvalidInput, match="warm-up"):
        repository.load("affine")
    assert np.array_equal(repository.get("affine").infer({"x": X})["y"], 2 * X + 1)


def test_an_answer_is_kept_for_the_same_request_alone(load: Load) -> None:
    model = load("response_cache { enable: true }").get("affine")
    first = model.infer({"x": X})
    for _ in range(2):
        assert np.array_equal(model.infer({"x": X.copy()})["y"], first["y"])
    assert np.array_equal(model.infer({"x": X + 1})["y"], 2 * X + 3)
    found = model.statistics
    assert (found.hits, found.misses, found.executions, found.inferences) == (2, 2, 2, 4)
    assert load().get("affine").cache is None


def test_the_cache_has_a_bound_and_lets_the_oldest_go() -> None:
    cache = ResponseCache(capacity=3000)
    keys = [key_of({"x": np.full(1, number)}) for number in range(3)]
    for key in keys[:2]:
        cache.put(key, {"y": np.zeros(100)})
    assert cache.get(keys[0]) is not None
    cache.put(keys[2], {"y": np.zeros(100)})
    assert [cache.get(key) is not None for key in keys] == [True, False, True]
    cache.put(keys[1], {"y": np.zeros(1000)})  # larger than all of it
    assert cache.get(keys[1]) is None


def test_requests_of_other_shapes_or_types_are_others() -> None:
    zeros = np.zeros(4, np.float32)
    assert len({key_of({"x": item}) for item in (zeros, zeros.reshape(2, 2), zeros.view(np.int32))}) == 3
    assert key_of({"a": zeros, "b": zeros}) == key_of({"b": zeros, "a": zeros})
    assert key_of({"a": np.array(["x", "yz"], object)}) != key_of({"a": np.array(["xy", "z"], object)})


def test_a_model_that_is_not_there_is_not_looked_for_elsewhere(load: Load) -> None:
    repository = load()
    for name in ("..", "../models/affine", "/etc", ""):
        with pytest.raises(NotFound):
            repository.load(name)
