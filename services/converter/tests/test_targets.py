"""Other formats than ONNX: what happens around the one who writes them (a fake), and the real ones on small
networks with a free batch (zoo/make_targets.py)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.events import ConversionRequested
from trainyard.converter.conversion import Proven, convert
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.core.targets import WRITERS
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.testing.evidence import Subject

Make = Callable[..., ConversionRequested]
Convert = Callable[..., Awaitable[Proven]]
ROOT = Path(__file__).parents[3]
OWN_FILES = {
    "torch": {"model.py", "operators.py", "model.safetensors"},
    "torchscript": {"model.pt"},
    "openvino": {"model.xml", "model.bin"},
    "saved-model": {"saved_model.pb", "variables"},
    "tflite": {"model.tflite"},
    "paddle": {"model.json", "model.pdiparams"},
}
IN_THE_DEFAULT_RUN = ("torch", "torchscript")


async def _silent(step: str, message: str, fraction: float) -> None:
    del step, message, fraction


async def test_a_target_is_held_to_the_numbers_and_lies_in_its_own_folder(request_affine: Make, tools: Tools) -> None:
    proven = await convert(request_affine(to=["onnx", "torch"]), tools, _silent)
    assert proven.config is None
    assert (proven.folder / "torch" / "model.txt").exists()
    (target,) = proven.report.targets
    assert (target.target, target.passed, target.framework, target.max_abs_error) == ("torch", True, "paper 1", 0.0)
    assert len(target.comparisons) == len(proven.report.comparisons)
    made = {file.path for file in proven.report.files if not file.path.startswith("scripts/")}
    assert made == {"model.onnx", "torch/model.txt"}
    assert "paper 1" in (proven.folder / "report.html").read_text()


async def test_a_writer_gets_the_inputs_in_the_order_of_the_model(
    request_affine: Make, tools: Tools, targets: Any
) -> None:
    await convert(request_affine(to=["tflite"]), tools, _silent)
    (asked,) = targets.asked
    assert [item["name"] for item in asked.inputs] == ["x"]
    assert asked.outputs == ("y", "z")
    assert asked.writer is WRITERS["tflite"]


async def test_other_numbers_fail_the_conversion_and_publish_nothing_of_the_target(
    request_affine: Make, tools: Tools, targets: Any
) -> None:
    targets.skew = 0.25
    with pytest.raises(ConversionFault, match=r"cannot become TFLite: the numbers differ: random, batch 1, output y"):
        await convert(request_affine(to=["tflite", "triton"]), tools, _silent)
    (folder,) = (tools.state / "conversions").iterdir()
    assert not (folder / "tflite").exists()
    assert not (folder / "triton").exists()
    report = json.loads((folder / "report.json").read_text())
    assert report["targets"][0]["max_abs_error"] == pytest.approx(0.25)
    assert [(step["name"], step["passed"]) for step in report["steps"]][-1] == ("tflite", False)


async def test_every_target_is_tried_before_the_conversion_fails(
    request_affine: Make, tools: Tools, targets: Any
) -> None:
    targets.refusal = {"torch": "ai.onnx.Strange ['y'] has no function", "openvino": "no such layer"}
    words = r"become a PyTorch module: ai\.onnx\.Strange \['y'\] has no function; it cannot become OpenVINO IR: no such"
    with pytest.raises(ConversionFault, match=words) as caught:
        await convert(request_affine(to=["torch", "tflite", "openvino"]), tools, _silent)
    assert caught.value.reason == "target"
    assert caught.value.report is not None
    assert (caught.value.report / "tflite" / "model.txt").exists()


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    """The folder of the networks, made."""
    subprocess.run([sys.executable, ROOT / "services/converter/tests/zoo/make_targets.py", tmp_path], check=True)
    return tmp_path


@pytest.mark.integration
@pytest.mark.timeout(900)
@pytest.mark.parametrize("network", ["convolutional", "attentive"])
@pytest.mark.parametrize(
    "target",
    [name if name in IN_THE_DEFAULT_RUN else pytest.param(name, marks=pytest.mark.frameworks) for name in OWN_FILES],
)
async def test_a_model_written_and_read_again_is_equal_at_every_batch_size(
    target: str,
    network: str,
    networks: Path,
    real_tools: Tools,
    convert_files: Convert,
    evidence: Callable[[Subject, ConversionReport], None],
) -> None:
    proven = await convert_files(real_tools, networks, weights=f"{network}.onnx", to=[target])
    evidence(Subject(f"{network}.onnx", "onnx"), proven.report)
    (found,) = proven.report.targets
    assert found.passed
    assert found.max_abs_error is not None
    assert found.max_abs_error < 1e-4
    assert {file.name for file in (proven.folder / target).iterdir()} >= OWN_FILES[target]
    assert len(found.comparisons) == len(proven.report.comparisons) >= 6
