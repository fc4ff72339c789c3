"""Faults that users of PyTorch exporters reported, through a whole conversion: what the user gets, what the report says.

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

from trainyard.converter.conversion import Proven
from trainyard.converter.preparation import ConversionFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

ZOO = Path(__file__).parent / "zoo"
X = {"name": "x", "shape": ["batch", 3]}
Run = Callable[..., Awaitable[Proven]]


@pytest.fixture(scope="module")
def stored(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the models, and samples in which some numbers are none."""
    folder = tmp_path_factory.mktemp("weights")
    names = ("gru", "Unused", "ByBatch", "Windows", "Largest", "Doubles", "BatchStatistics", "Twice")
    subprocess.run([torch_python, ZOO / "prepare.py", ZOO, folder, *names], check=True, timeout=120)
    rows = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
    rows[1, 1] = rows[5, 0] = np.nan
    np.savez(folder / "holes.npz", x=rows)
    return folder


@pytest.fixture
def run(torch_python: Path, stored: Path, convert_with: Run) -> Run:
    async def one(name: str, *inputs: dict[str, Any], **block: Any) -> Proven:
        given = {"weights": f"{name}.pt", "model": f"models:{name}", "inputs": inputs or [X]}
        return await convert_with(torch_python, stored, **given, **block)

    return one


def nodes(proven: Proven) -> list[onnx.NodeProto]:
    return list(onnx.load(proven.folder / "model.onnx").graph.node)


async def test_5_a_gru_is_reset_as_torch_resets_it(run: Run) -> None:
    proven = await run("gru", {"name": "x", "shape": ["batch", 4, 5]})
    (cell,) = (node for node in nodes(proven) if node.op_type == "GRU")
    assert {item.name: item.i for item in cell.attribute}["linear_before_reset"] == 1


async def test_11_rows_that_change_each_other_are_served_one_by_one(run: Run) -> None:
    proven = await run("BatchStatistics", {"name": "x", "shape": ["batch", 4, 3]})
    assert any("the rows of a batch change each other" in note for note in proven.report.notes)
    assert proven.config is not None
    assert proven.config.max_batch_size == 0


@pytest.mark.parametrize("opset", [17, 20])
async def test_13_float64_stays_float64(run: Run, opset: int) -> None:
    proven = await run("Doubles", {"name": "x", "shape": ["batch", 4], "dtype": "float64"}, opset=opset)
    assert [item["dtype"] for item in proven.report.outputs] == ["float64"]
    assert proven.report.max_abs_error is not None
    assert proven.report.max_abs_error < 1e-8


async def test_14_an_input_that_nothing_reads_is_told(run: Run) -> None:
    proven = await run("Unused", X, {"name": "spare", "shape": ["batch", 3]})
    kept = [item["name"] for item in proven.report.inputs]
    told = "input 'spare' is not used by the model and is not part of the ONNX model" in proven.report.notes
    assert told == ("spare" not in kept)
    assert kept[0] == "x"


async def test_15_the_same_tensor_twice_is_served_twice(run: Run) -> None:
    proven = await run("Twice")
    assert proven.config is not None
    assert [item.name for item in proven.config.outputs] == ["output_0", "output_1"]


async def test_16_a_branch_on_the_batch_stays_a_branch(run: Run) -> None:
    proven = await run("ByBatch", batch_sizes=[1, 2, 3, 7])
    assert "If" in {node.op_type for node in nodes(proven)}
    assert proven.report.batch_sizes == [1, 2, 3, 7]


async def test_17_complex_numbers_inside_are_pairs_of_real_ones(run: Run) -> None:
    proven = await run("Windows", {"name": "x", "shape": ["batch", 32]})
    assert [item["dtype"] for item in proven.report.outputs] == ["float32", "float32"]
    assert "STFT" in proven.report.operators


async def test_55_numbers_that_are_none_are_not_passed_over(run: Run) -> None:
    """The runtime's ReduceMax skips them, torch does not: that is another model for whoever has such data."""
    with pytest.raises(ConversionFault, match=r"the numbers differ: .*NaN at 0 places instead of") as caught:
        await run("Largest", samples="holes.npz")
    assert caught.value.reason == "numbers"
