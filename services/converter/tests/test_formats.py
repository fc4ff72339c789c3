"""What a file is, by what is in it; and what a model says of itself."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import get_args

import pytest

from trainyard.common.contract.conversions import Format, TensorSpec
from trainyard.common.errors import InvalidInput
from trainyard.converter import workers
from trainyard.converter.adapters import archives
from trainyard.converter.adapters.opening import format_of
from trainyard.converter.core import formats, signatures, targets
from trainyard.converter.core.triton import Tensor


def archive(path: Path, *members: str) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for member in members:
            file.writestr(member, "")
    return path


@pytest.mark.parametrize(
    ("members", "found"),
    [
        (["model/data.pkl", "model/version"], "torch-state-dict"),
        (["model/data.pkl", "model/constants.pkl", "model/code/__torch__/net.py"], "torchscript"),
        (["serialized_exported_program.json", "version"], "torch-export"),
        (["net/models/model.json", "net/version"], "torch-export"),
    ],
)
def test_an_archive_of_torch_is_told_by_its_members(tmp_path: Path, members: list[str], found: str) -> None:
    assert format_of(archive(tmp_path / "model.pt", *members)) == found


SAFETENSORS = (40).to_bytes(8, "little") + b'{"w": {"dtype": "F32"}}'


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("model.json", json.dumps({"learner": {}}).encode(), "xgboost"),
        ("model.txt", b"tree\nversion=v4\nnum_class=1\n", "lightgbm"),
        ("model.bin", b"CBM1\0\0\0\0", "catboost"),
        ("model.bin", SAFETENSORS, "safetensors"),
        ("old.pt", b"\x80\x02\x8a\nl\xfc", "torch-state-dict"),
        ("epoch.ckpt", b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "torch-state-dict"),
        ("model.bin", b"\x1c\0\0\0TFL3", "tflite"),
        ("model.bin", b"\n\x031.1\x12\tMindSpore*\x062.10.0", "mindspore"),
        ("model.ckpt", b"\n\x81\x07\n\x08c.weight", "mindspore"),
        ("model.ONNX", b"\x08\x08", "onnx"),
        ("model.pkl", b"\x80\x04", "sklearn"),
    ],
)
def test_other_files_by_their_beginning_and_then_by_their_name(
    tmp_path: Path, name: str, content: bytes, found: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert format_of(tmp_path / name) == found


def test_what_cannot_be_told_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "model.xyz").write_bytes(b"?")
    with pytest.raises(InvalidInput, match=r"convert\.weights: model\.xyz is in no format .*convert\.format names one"):
        format_of(tmp_path / "model.xyz")
    with pytest.raises(InvalidInput, match="there is no model at"):
        format_of(tmp_path / "none.pt")
    with pytest.raises(InvalidInput, match=r"the folder .* is in no format that is known here"):
        format_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "framework", "words"),
    [
        ("net.air", None, r"net\.air is MindSpore's format for Ascend.*export the same network as MINDIR"),
        ("net.of", None, r"net\.of is of OneFlow; it has no build for CPython 3\.11.*as \.safetensors"),
        ("net.pt", "oneflow", r"net\.pt holds parameters of OneFlow; it has no build for CPython 3\.11"),
    ],
)
def test_what_nothing_here_reads_is_refused_with_what_helps(
    tmp_path: Path, name: str, framework: str | None, words: str
) -> None:
    (tmp_path / name).write_bytes(b"?")
    with pytest.raises(InvalidInput, match=words):
        format_of(tmp_path / name, framework)


def test_a_folder_of_paddle_1_is_refused_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "__model__").touch()
    with pytest.raises(InvalidInput, match=r"as Paddle 1 laid it out.*rename the two.*save_inference_model"):
        format_of(tmp_path)


@pytest.mark.parametrize("member", ["snapshot_done", "pickled_data"])
def test_a_folder_of_oneflow_is_refused_with_what_helps(tmp_path: Path, member: str) -> None:
    (tmp_path / member).touch()
    with pytest.raises(InvalidInput, match=r"is a folder of OneFlow; it has no build .*\(convert\.model\)"):
        format_of(tmp_path)


def test_arrays_alone_are_what_the_framework_says(tmp_path: Path) -> None:
    weights, samples = tmp_path / "net.safetensors", tmp_path / "samples.npz"
    weights.write_bytes(SAFETENSORS)
    samples.touch()
    assert [format_of(weights, name) for name in (None, "pytorch", "jax")] == ["safetensors", "safetensors", "jax"]
    assert format_of(samples, "jax") == "jax"
    with pytest.raises(InvalidInput, match=r"samples\.npz is in no format"):
        format_of(samples, "pytorch")


def test_every_format_has_a_row_and_every_row_a_worker() -> None:
    assert set(formats.SOURCES) == set(get_args(Format))
    folder = Path(next(iter(workers.__path__)))
    assert all((folder / f"{source.worker}.py").exists() for source in formats.SOURCES.values())


def test_every_environment_has_a_recipe() -> None:
    recipes = Path(__file__).parents[3] / "deploy" / "converters"
    read = {source.environment for source in formats.SOURCES.values()} - {None, formats.OWN}
    wanted = read | {writer.environment for writer in targets.WRITERS.values()}
    assert wanted - {formats.OWN} == {path.parent.name for path in recipes.glob("*/image.toml")}


def test_a_free_first_dimension_of_every_input_is_the_batch() -> None:
    assert signatures.declared([Tensor("x", "float32", (-1, 3, -1))]) == (TensorSpec(name="x", shape=("batch", 3, -1)),)
    fixed = signatures.declared([Tensor("x", "float32", (-1, 3)), Tensor("state", "float32", (2, 8))])
    assert [item.shape for item in fixed] == [(-1, 3), (2, 8)]


@pytest.mark.parametrize("name", ["serving_default_x:0", "onnx::MatMul_7", "model/input-1", "0"])
def test_names_that_exporters_give_can_be_declared(name: str) -> None:
    assert signatures.declared([Tensor(name, "float32", (-1, 3))])[0].name == name


def test_an_input_that_no_request_could_declare_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"input 'words' \(tensor\(string\), \[-1\]\) cannot be converted"):
        signatures.declared([Tensor("words", "tensor(string)", (-1,))])
    with pytest.raises(InvalidInput, match="does not say what goes in"):
        signatures.declared([])


def test_a_zip_of_countless_members_is_not_read_here(tmp_path: Path) -> None:
    small = archive(tmp_path / "small.zip", "a")
    assert archives.readable(small)
    content = small.read_bytes()
    (tmp_path / "large.zip").write_bytes(content[:-10] + (2**30).to_bytes(4, "little") + content[-6:])
    assert not archives.readable(tmp_path / "large.zip")
    # Of a zip64 the other end counts, whatever this one says.
    locator = b"PK\x06\x06" + bytes(36) + (2**40).to_bytes(8, "little") + bytes(8) + b"PK\x06\x07" + bytes(16)
    (tmp_path / "zip64.zip").write_bytes(content[:-22] + locator + content[-22:])
    assert not archives.readable(tmp_path / "zip64.zip")
    (tmp_path / "empty.zip").touch()
    assert archives.readable(tmp_path / "empty.zip")
