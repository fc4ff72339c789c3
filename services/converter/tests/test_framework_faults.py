"""Faults that users of other frameworks' converters reported, through a whole conversion in that framework's environment.

The numbers of the tests are rows of `tests/architecture/test_conversion_faults.py`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.conversion import Proven
from trainyard.converter.core import gate
from trainyard.converter.preparation import ConversionFault

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]

RECIPES = Path(__file__).parents[3] / "deploy" / "converters"
ZOO = Path(__file__).parent / "zoo"
Run = Callable[..., Awaitable[Proven]]
Home = Callable[[str], tuple[Path, Path]]


@pytest.fixture(scope="module")
def home(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """An environment's interpreter, and the folder of its models, made once."""
    known: dict[str, tuple[Path, Path]] = {}

    def make(environment: str) -> tuple[Path, Path]:
        if environment not in known:
            python = cache.ensure(catalogue.read(RECIPES, environment), images, lambda words: None).python
            folder = tmp_path_factory.mktemp(environment)
            script = "make_mxnet.py" if environment == "mxnet" else f"faults_{environment}.py"
            subprocess.run([python, ZOO / script, folder], check=True, timeout=300)
            known[environment] = python, folder
        return known[environment]

    return make


@pytest.fixture
def run(home: Home, convert_with: Run) -> Run:
    async def one(environment: str, weights: str, **block: Any) -> Proven:
        python, folder = home(environment)
        return await convert_with(python, folder, weights=weights, **block)

    return one


def model_of(proven: Proven) -> onnx.ModelProto:
    return onnx.load(proven.folder / "model.onnx")


async def test_21_and_28_pictures_of_three_sizes(run: Run, home: Home) -> None:
    proven = await run("tensorflow", "sized.keras")
    runtime = Runtime(proven.folder / "model.onnx")
    with np.load(home("tensorflow")[1] / "sized.npz") as stored:
        for at in range(3):
            (found,) = runtime.run({"image": stored[f"in{at}"]}).values()
            assert gate.compare(f"size {at}", "y", stored[f"out{at}"], found).passed


async def test_22_places_of_the_largest_are_those_of_nhwc(run: Run) -> None:
    proven = await run("tensorflow", "largest")
    assert {item["name"]: item["dtype"] for item in proven.report.outputs} == {"most": "float32", "place": "int64"}


async def test_23_words_padded_on_either_side(run: Run) -> None:
    proven = await run("tensorflow", "masked.keras", samples="masked.npz", batch_sizes=[1, 2, 5])
    assert "samples, batch 5" in {item["case"] for item in proven.report.comparisons}


@pytest.mark.parametrize(
    ("model", "operator"), [("table", "LookupTableFind"), ("listed", "TensorList"), ("singular", "Svd")]
)
async def test_24_and_27_an_operator_that_is_unknown_is_named(run: Run, model: str, operator: str) -> None:
    with pytest.raises(ConversionFault, match=rf"cannot be exported: .*{operator}") as caught:
        await run("tensorflow", model)
    assert caught.value.reason == "export"


async def test_26_a_subclassed_model(run: Run) -> None:
    assert (await run("tensorflow", "subclassed")).report.verdict == "proven"


@pytest.mark.parametrize("model", ["flat.keras", "cube.keras"])
async def test_46_49_and_50_layouts_are_turned_right(run: Run, model: str) -> None:
    assert (await run("tensorflow", model)).report.verdict == "proven"


async def test_29_30_and_31_pooling_resizing_and_names(run: Run) -> None:
    proven = await run("paddle", "pooled.json")
    assert not {"GlobalAveragePool", "GlobalMaxPool"} & set(proven.report.operators)
    graph = model_of(proven).graph
    names = {dim.dim_param for value in (*graph.input, *graph.output) for dim in value.type.tensor_type.shape.dim}
    assert not [name for name in names if "DynamicDimension" in name]


FIVE = [{"name": "x", "shape": ["batch", 5]}]


async def test_32_a_layer_that_is_another_once_it_is_saved(run: Run) -> None:
    words = (
        r"the program that paddle\.jit\.save makes is another model: its output 'output_0' differs by .*in_dynamic_mode"
    )
    with pytest.raises(ConversionFault, match=words) as caught:
        await run("paddle", "Split.pdparams", model="paddle_nets:Split", inputs=FIVE)
    assert caught.value.reason == "model"


async def test_32_a_branch_on_the_data_stays_one(run: Run) -> None:
    proven = await run("paddle", "Branching.pdparams", model="paddle_nets:Branching", inputs=FIVE)
    assert "If" in proven.report.operators


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("coded", r"the weights hold Python objects \(builtins\.print\), not only arrays"),
        ("list", r"list\.pdparams holds no state dict"),
        ("cut", r"cut\.pdparams cannot be read as Paddle weights: pickle data was truncated"),
        (
            "other",
            r"do not fit the model: 1 missing \(score\.bias\), 1 unknown \(more\), 1 of another shape \(score\.w",
        ),
    ],
)
async def test_weights_of_paddle_that_are_none(run: Run, weights: str, words: str) -> None:
    with pytest.raises(ConversionFault, match=words) as caught:
        await run("paddle", f"{weights}.pdparams", model="paddle_nets:Branching", inputs=FIVE)
    assert caught.value.reason == "model"


@pytest.mark.parametrize(("function", "shape"), [("reverse", ["batch", -1, 3]), ("mean", ["batch", -1, -1, 3])])
async def test_33_and_34_free_axes_of_jax(run: Run, function: str, shape: list[Any]) -> None:
    proven = await run("jax", "w.npz", model=f"jax_nets:{function}", inputs=[{"name": "x", "shape": shape}])
    shapes = {tuple(item["shape"]) for item in proven.report.comparisons}
    assert all(0 not in one for one in shapes)
    assert len(shapes) >= 3


async def test_36_a_fixed_scale_is_one(run: Run) -> None:
    """What is stored is 3."""
    proven = await run("mxnet", "net-symbol.json", inputs=[{"name": "data", "shape": ["batch", 3, 16, 16]}])
    graph = model_of(proven).graph
    stored = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
    (scale,) = (stored[node.input[1]] for node in graph.node if node.op_type == "BatchNormalization")
    assert np.array_equal(scale, np.ones(8, np.float32))


async def test_38_what_is_missing_goes_where_the_model_sends_it(run: Run) -> None:
    proven = await run("classical", "missing.joblib", trust=True, samples="missing.npz", batch_sizes=[1, 2, 64])
    assert proven.report.verdict == "proven"


@pytest.mark.parametrize("model", ["close", "scaled"])
async def test_39_rows_at_a_threshold_take_their_path(run: Run, model: str) -> None:
    proven = await run("classical", f"{model}.joblib", trust=True, samples=f"{model}.npz", batch_sizes=[1, 2, 64])
    assert proven.report.verdict == "proven"


async def test_40_categories_are_no_order(run: Run) -> None:
    proven = await run("classical", "kinds.txt", samples="kinds.npz", batch_sizes=[1, 2, 64])
    assert proven.report.verdict == "proven"
