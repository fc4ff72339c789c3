"""Preprocessing that travels with the model: the blocks that fit, the order of what is done, and the graph that does it.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from PIL import Image

from trainyard.common.contract.conversions import Preprocessing, TensorSpec
from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.conversion import Proven
from trainyard.converter.core import preprocessing
from trainyard.converter.ports import ExportRequest, RewriteRequest, Rewritten
from trainyard.converter.preparation import ConversionFault, Tools

CAFFE = {"input": "x", "channels": "BGR", "mean": (103.939, 116.779, 123.68)}
IMAGENET = {"scale": 1 / 255, "mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
NET = """<ir_version: 8, opset_import: ["" : 17]>
net (float[batch, 3, {height}, {width}] x) => (float[batch, 3, {height}, {width}] y) {{ y = Neg (x) }}"""
Run = Callable[..., Awaitable[Proven]]


def block(**changes: Any) -> Preprocessing:
    return Preprocessing.model_validate({"input": "x", **changes})


def spec(*shape: int | str, dtype: str = "float32") -> TensorSpec:
    return TensorSpec.model_validate({"name": "x", "dtype": dtype, "shape": shape})


def test_51_the_mean_is_that_of_the_models_channels_after_the_swap() -> None:
    red = np.zeros((1, 2, 2, 3), np.uint8)
    red[..., 0] = 200
    found = preprocessing.apply(block(**CAFFE), spec("batch", 3, 2, 2), red)
    np.testing.assert_allclose(found[0, :, 0, 0], [-103.939, -116.779, 200 - 123.68], rtol=1e-6)


@pytest.mark.parametrize(
    ("given", "changes", "words"),
    [
        (spec("batch", 3, 8, 8), {"input": "z"}, "there is no input 'z' .*there are: x"),
        (spec("batch", 8, 8, 3), {}, "is no batch of pictures in NCHW"),
        (spec("batch", 3, 8, 8, dtype="int64"), {}, "is no batch of pictures"),
        (spec(1, 3, 8, 8), {}, "is no batch of pictures"),
        (spec("batch", 3, 8, 8), {"resize": (16, 16)}, r"pictures of \[16, 16\] for an input of \[8, 8\]"),
        (spec("batch", 3, 8, 8), {"resize": (16, 16), "crop": (9, 8)}, r"pictures of \[9, 8\]"),
    ],
)
def test_a_block_that_does_not_fit_is_refused(given: TensorSpec, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        preprocessing.check([block(**changes)], [given])


def test_a_division_by_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="a division by zero"):
        block(std=(1, 0, 1))


class Careless(WorkerRewriter):
    """Subtracts the mean in the order of red, green and blue."""

    async def rewrite(self, request: RewriteRequest) -> Rewritten:
        blocks = [{**item, "mean": item["mean"][::-1]} for item in request.options["preprocessing"]]
        return await super().rewrite(replace(request, options={**request.options, "preprocessing": blocks}))


@pytest.fixture
def run(tools: Tools, convert_files: Run, tmp_path: Path) -> Run:
    async def own(request: ExportRequest) -> Path:
        del request
        return Path(sys.executable)

    async def one(text: str, rewriter: WorkerRewriter | None = None, to: str = "triton", **changes: Any) -> Proven:
        onnx.save(parser.parse_model(text), tmp_path / "net.onnx")
        used = replace(tools, exporter=WorkerExporter(own), rewriter=rewriter or WorkerRewriter())
        block = {
            "weights": "net.onnx",
            "batch_sizes": [1, 2, 3],
            "to": [to],
            "preprocessing": [{"input": "x", **changes}],
        }
        return await convert_files(used, tmp_path, **block)

    return one


def net(height: int | str, width: int | str) -> str:
    return NET.format(height=height, width=width)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("text", "changes", "sides"),
    [
        (net(24, 20), {**IMAGENET, "resize": (24, 20)}, (37, 53)),
        (net(16, 16), {**IMAGENET, "resize": (24, 20), "crop": (16, 16)}, (20, 11)),
        (net(16, 12), {**CAFFE, "crop": (16, 12)}, (21, 40)),
        (net("h", "w"), CAFFE, (9, 7)),
        (
            net(24, 20).replace("3, 24, 20", "24, 20, 3"),
            {**CAFFE, "layout": "NHWC", "resize": (24, 20)},
            (24, 80),
        ),
    ],
    ids=["resized", "resized and cut", "cut", "as they come", "channels last"],
)
async def test_51_pictures_of_any_size_are_served_as_pillow_prepares_them(
    run: Run, text: str, changes: dict[str, Any], sides: tuple[int, int]
) -> None:
    proven = await run(text, **changes)
    assert proven.report.served is not None
    assert proven.report.served.passed
    runtime = Runtime(proven.serves)
    picture = np.random.default_rng(1).integers(0, 256, (*sides, 3), dtype=np.uint8)
    (found,) = runtime.run({"x": np.stack([picture, picture])}).values()
    made = picture
    if size := changes.get("resize"):
        made = np.asarray(Image.fromarray(picture).resize(size[::-1], Image.Resampling.BILINEAR))
    if cut := changes.get("crop"):
        top, left = (made.shape[0] - cut[0]) // 2, (made.shape[1] - cut[1]) // 2
        made = made[top : top + cut[0], left : left + cut[1]]
    levels = made[..., ::-1] if changes.get("channels") == "BGR" else made
    wanted = (levels * changes.get("scale", 1.0) - np.array(changes["mean"])) / np.array(changes.get("std", (1, 1, 1)))
    turned = -wanted if changes.get("layout") == "NHWC" else -wanted.transpose(2, 0, 1)
    np.testing.assert_allclose(found[1], turned, rtol=1e-5, atol=1e-5)


@pytest.mark.integration
async def test_51_a_mean_that_is_subtracted_in_the_wrong_order_is_refused(run: Run) -> None:
    with pytest.raises(ConversionFault, match="the numbers differ from what is done outside of the graph") as caught:
        await run(net(8, 8), rewriter=Careless(), **CAFFE)
    assert caught.value.reason == "ends"


@pytest.mark.integration
async def test_51_what_is_served_takes_bytes_and_the_model_stays_as_it_was(run: Run) -> None:
    proven = await run(net(8, 8), **CAFFE)
    assert proven.config is not None
    assert [(item.name, item.dtype, item.shape) for item in proven.config.inputs] == [("x", "uint8", (8, 8, 3))]
    assert [item["dtype"] for item in proven.report.inputs] == ["float32"]
    assert "pictures, batch 3" in {item["case"] for item in proven.report.comparisons}


@pytest.mark.integration
async def test_other_formats_are_written_from_what_takes_pictures(run: Run, targets: Any) -> None:
    targets.refusal["torch"] = "not today"
    with pytest.raises(ConversionFault, match="not today"):
        await run(net(8, 8), to="torch", **CAFFE, resize=(8, 8))
    (asked,) = targets.asked
    assert asked.inputs == ({"name": "x", "dtype": "uint8", "shape": ["batch", -1, -1, 3]},)
    assert {inputs["x"].dtype.name for inputs in asked.cases.values()} == {"uint8"}


@pytest.mark.frameworks
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("to", "resize"), [("torch", (8, 8)), ("openvino", None), ("torchscript", None), ("tflite", None)]
)
async def test_pictures_in_other_formats(
    real_tools: Tools, convert_files: Run, tmp_path: Path, to: str, resize: tuple[int, int] | None
) -> None:
    onnx.save(parser.parse_model(net(8, 8)), tmp_path / "net.onnx")
    blocks = [{**CAFFE, "resize": resize}]
    proven = await convert_files(real_tools, tmp_path, weights="net.onnx", to=[to], preprocessing=blocks)
    (target,) = proven.report.targets
    assert {item["case"] for item in target.comparisons} == {
        "pictures, batch 1",
        "pictures, batch 2",
        "pictures, batch 7",
        "pictures, batch 32",
    }
