"""Operators of PyTorch that no exporter writes: said in others where there is a way, named where there is none."""

from __future__ import annotations

import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from trainyard.converter.conversion import Proven
from trainyard.converter.preparation import ConversionFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(200)]

ZOO = Path(__file__).parent / "zoo"
SOURCES = Path(__file__).parents[1] / "src"
Run = Callable[..., Awaitable[Proven]]


@pytest.fixture(scope="module")
def stored(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    subprocess.run([torch_python, ZOO / "prepare.py", ZOO, folder, "Rewritten", "Blocked"], check=True, timeout=120)
    return folder


def block(name: str, *shape: Any) -> dict[str, Any]:
    inputs = [{"name": "x", "shape": ["batch", *shape]}]
    return {"weights": f"{name}.pt", "model": f"models:{name}", "inputs": inputs}


def test_each_decomposition_computes_what_its_operator_does(torch_python: Path) -> None:
    command = [torch_python, ZOO / "decompositions.py", SOURCES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 40


async def test_a_model_of_such_operators_is_proven_and_the_report_names_them(
    torch_python: Path, stored: Path, convert_with: Run
) -> None:
    proven = await convert_with(torch_python, stored, **block("Rewritten", 3, 5, 5))
    *failed, last = [step for step in proven.report.steps if "exporter" in step.name]
    assert failed
    assert not any(step.passed for step in failed)
    assert last.passed
    assert last.name.startswith("dynamo exporter with operators rewritten")
    for name in ("aten.adaptive_max_pool2d", "aten.cdist", "aten.linalg_inv", "aten.scatter_reduce.two"):
        assert name in last.message
    assert proven.config is not None
    assert proven.config.max_batch_size > 0


async def test_a_refusal_names_every_operator_that_blocks_and_its_line(
    torch_python: Path, stored: Path, convert_with: Run
) -> None:
    with pytest.raises(ConversionFault) as caught:
        await convert_with(torch_python, stored, **block("Blocked", 3))
    assert caught.value.reason == "export"
    lines = (ZOO / "models.py").read_text().splitlines()
    first, second = (next(at for at, line in enumerate(lines, 1) if name in line) for name in ("special.i0", "igamma("))
    words = str(caught.value)
    assert f"prims.bessel_i0 (models.py:{first})" in words
    assert f"prims.igamma (models.py:{second})" in words
