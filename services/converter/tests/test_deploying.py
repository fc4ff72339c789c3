"""What a deployment is told before it asks any server: a conversion's folder, inputs, addresses."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import InvalidInput, TrainyardError
from trainyard.converter.adapters import proof
from trainyard.converter.adapters.proof import Proof
from trainyard.converter.conversion import convert
from trainyard.converter.deploying import comparing, model
from trainyard.converter.preparation import Tools

X = np.array([[1.0, -2.0, 0.5]], np.float32)


@pytest.fixture
async def folder(request_affine: Callable[..., ConversionRequested], tools: Tools) -> Path:
    """Of a conversion of y = 2·x + 1."""

    async def tell(step: str, words: str, fraction: float) -> None:
        del step, words, fraction

    tolerance = {"rtol": 0.5, "atol": 0.25}
    return (await convert(request_affine(tolerance=tolerance), tools, tell)).folder


async def test_a_conversion_brings_its_proof_and_its_tolerance(folder: Path) -> None:
    found = model.read(folder)
    assert (found.name, found.proof.case, set(found.beside)) == ("affine", "samples, batch 1", {"labels.txt"})
    assert (found.version / "model.onnx").is_file()
    assert found.tolerances["y"].rtol == 0.5
    expected = {"y": 2 * found.proof.inputs["x"] + 1}
    expected["z"] = expected["y"].astype(np.float64)
    assert found.error(expected) == 0
    assert found.error({**expected, "y": expected["y"] + np.float32(0.2)}) == pytest.approx(0.2, rel=1e-3)
    with pytest.raises(TrainyardError, match="answers other numbers than the framework: y"):
        found.error({**expected, "y": expected["y"] + 7})
    with pytest.raises(TrainyardError, match="answers without 'z'"):
        found.error({"y": expected["y"]})


async def test_a_lower_precision_is_held_to_its_own_bounds(folder: Path) -> None:
    found = replace(model.read(folder), tolerances={})
    near = {name: value * value.dtype.type(1.005) for name, value in found.proof.outputs.items()}
    with pytest.raises(TrainyardError, match="answers other numbers"):
        found.error(near)
    assert replace(found, precision="float16").error(near) > 0
    far = {name: value * value.dtype.type(1.5) for name, value in found.proof.outputs.items()}
    with pytest.raises(TrainyardError, match="answers other numbers"):
        replace(found, precision="float16").error(far)


async def test_a_configuration_is_made_for_its_new_place(folder: Path) -> None:
    found = model.read(folder)
    config = found.configured("other", 3)
    assert (config.name, config.version_policy.latest.num_versions, config.max_batch_size) == ("other", 3, 5)
    assert found.config.name == "affine"


def without(file: str) -> Callable[[Path], None]:
    return lambda folder: shutil.rmtree(folder / file) if (folder / file).is_dir() else (folder / file).unlink()


def failed(folder: Path) -> None:
    report = json.loads((folder / "report.json").read_text())
    (folder / "report.json").write_text(json.dumps({**report, "verdict": "failed", "summary": "not equal"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (without("report.json"), "holds no report of a conversion"),
        (lambda folder: (folder / "report.json").write_text("{"), "holds no report of a conversion"),
        (failed, "failed: not equal"),
        (without("triton"), r"has no Triton model \(`yard convert MODEL --to triton` makes one\)"),
        (without("proof.npz"), r"has no input to ask a server about .* \(convert the model again\)"),
        (lambda folder: (folder / "proof.npz").write_bytes(b"PK"), "has no input to ask a server about"),
    ],
)
async def test_folders_that_cannot_be_deployed(folder: Path, change: Callable[[Path], Any], words: str) -> None:
    change(folder)
    with pytest.raises(InvalidInput, match=words):
        model.read(folder)


def test_a_proof_holds_strings_and_any_names(tmp_path: Path) -> None:
    words = np.array([["naïve", ""]], object)
    kept = Proof("random, batch 1", {"a/b:0": X, "file": words}, {"case": np.array([[True]])})
    proof.write(tmp_path, kept)
    found = proof.read(tmp_path)
    assert (found.case, set(found.inputs), set(found.outputs)) == (kept.case, {"a/b:0", "file"}, {"case"})
    assert found.inputs["file"].tolist() == words.tolist()
    assert found.inputs["file"].dtype == object
    assert np.array_equal(found.inputs["a/b:0"], X)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "has no rows"),
        ({"x": np.float32(1)}, "has no rows"),
        ({"x": np.zeros((0, 3))}, "has no rows"),
        ({"x": np.zeros((2, 3)), "w": np.zeros((3, 3))}, "have different numbers of rows"),
    ],
)
def test_inputs_that_cannot_be_compared_on(tmp_path: Path, arrays: dict[str, Any], words: str) -> None:
    np.savez(tmp_path / "inputs.npz", **arrays)
    with pytest.raises(InvalidInput, match=words):
        comparing.read(tmp_path / "inputs.npz")
    with pytest.raises(InvalidInput, match=r"is no \.npz of inputs"):
        comparing.read(tmp_path / "nothing.npz")
