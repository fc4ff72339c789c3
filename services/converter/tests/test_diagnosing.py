"""Where an exported model begins to differ: told by the layers of the framework, whatever the exporter calls them."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.worker_rewriter import WorkerRewriter
from trainyard.converter.conversion import Proven
from trainyard.converter.core import divergence, formats
from trainyard.converter.ports import ExportRequest, Layers
from trainyard.converter.preparation import ConversionFault, Tools

RECIPES = Path(__file__).parents[3] / "deploy" / "converters"
ZOO = Path(__file__).parent / "zoo"
NAMES = ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ([True, True, False, False], ("b", "c")),
        ([False, True, False, False], ("b", "c")),  # one that was folded into the next
        ([True, None, False, False], ("a", "c")),
        ([False, False, None, False], ("", "a")),
        ([True, False, True, True], None),
        ([True, True, True, None], None),
    ],
)
def test_the_layer_behind_the_last_that_is_found(seen: list[bool | None], told: tuple[str, str] | None) -> None:
    assert divergence.between(NAMES, seen) == told


@pytest.mark.integration
async def test_layers_are_found_by_what_they_give_with_their_axes_in_any_order(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]> net (float[b, 2, 3, 4] x) => (float[b, 2, 3, 4] y) {
        doubled = Add (x, x)
        y = Neg (doubled)
    }"""
    onnx.save(parser.parse_model(text), tmp_path / "net.onnx")
    x = np.random.default_rng(0).standard_normal((2, 2, 3, 4)).astype(np.float32)
    given = [(2 * x).transpose(0, 2, 3, 1), 3 * x, np.ones(5), -2 * x.reshape(4, 12)]
    np.savez(tmp_path / "layers.npz", **{f"{at:05d}": array.astype(float) for at, array in enumerate(given)})  # type: ignore[arg-type]
    (tmp_path / "work").mkdir()
    layers = Layers(NAMES, tmp_path / "layers.npz")
    seen = await WorkerRewriter().seen(tmp_path / "net.onnx", layers, {"x": x}, tmp_path / "work")
    assert seen == [True, False, None, True]


@pytest.mark.integration
@pytest.mark.timeout(200)
async def test_the_layer_of_a_torch_model_that_is_exported_wrong_is_named(
    torch_python: Path, convert_with: Callable[..., Awaitable[Proven]], tmp_path: Path
) -> None:
    code = "import models, sys, torch; torch.manual_seed(0); torch.save(models.Sly().state_dict(), sys.argv[1])"
    subprocess.run([torch_python, "-c", code, tmp_path / "sly.pt"], cwd=ZOO, check=True)  # noqa: ASYNC221
    inputs = [{"name": "x", "shape": ["batch", 3]}]
    with pytest.raises(ConversionFault) as caught:
        await convert_with(torch_python, tmp_path, weights="sly.pt", model="models:Sly", inputs=inputs)
    assert caught.value.reason == "numbers"
    wanted = "it agrees up to layer first.1 (Tanh), and what layer second (Shifted) gives is nowhere in the ONNX model"
    assert str(caught.value).endswith(wanted)


@pytest.mark.frameworks
@pytest.mark.timeout(900)
async def test_layers_of_keras_are_found_in_what_tf2onnx_writes(
    images: Path, real_tools: Tools, convert_files: Callable[..., Awaitable[Proven]], tmp_path: Path
) -> None:
    python = cache.ensure(catalogue.read(RECIPES, "tensorflow"), images, lambda words: None).python
    subprocess.run([python, ZOO / "make_tensorflow.py", tmp_path], check=True, timeout=300)  # noqa: ASYNC221
    proven = await convert_files(real_tools, tmp_path, weights="two.keras", batch_sizes=[2])
    image = np.random.default_rng(0).standard_normal((2, 16, 16, 3)).astype(np.float32)
    (tmp_path / "layers").mkdir()
    request = ExportRequest(
        format="keras", source=formats.SOURCES["keras"], image=None, workdir=tmp_path, model=None,
        weights=tmp_path / "two.keras", trust=False, signature=None, output_names=(), rung=None, folder=tmp_path / "layers",
        inputs=({"name": "image", "dtype": "float32", "shape": ["batch", 16, 16, 3]},), cases={"case": {"image": image}},
    )  # fmt: skip
    layers = await real_tools.exporter.layers(request)
    (tmp_path / "seen").mkdir()
    seen = await real_tools.rewriter.seen(proven.folder / "model.onnx", layers, {"image": image}, tmp_path / "seen")
    told = dict(zip(layers.names, seen, strict=True))
    assert told["max_pooling2d (MaxPooling2D)"]
    assert told["classes (Dense)"]
    assert told["score (Dense)"]
