"""A TensorRT engine: the command lines, the bounds, and a whole conversion through a small program in trtexec's place, which
takes its options and writes its files. No GPU is here, and what trtexec itself does on one is not shown by this."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven
from trainyard.converter.core.profiles import profile
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.targets import tensorrt_plan

ZOO = Path(__file__).parent / "zoo"
Run = Callable[..., Awaitable[Proven]]
BOUNDS = {"x": {"min": [1, 3], "opt": [32, 3], "max": [32, 3]}}


def test_an_engine_is_built_for_explicit_bounds() -> None:
    assert tensorrt_plan.build_command("/opt/trtexec", "m.onnx", "m.plan", BOUNDS) == [
        "/opt/trtexec",
        "--onnx=m.onnx",
        "--saveEngine=m.plan",
        "--noTF32",
        "--skipInference",
        "--minShapes=x:1x3",
        "--optShapes=x:32x3",
        "--maxShapes=x:32x3",
    ]


def test_a_model_with_nothing_free_has_no_bounds() -> None:
    command = tensorrt_plan.build_command("trtexec", "m.onnx", "m.plan", {})
    assert not [option for option in command if "Shapes" in option]


def test_inputs_are_given_by_name_and_names_with_colons_between_quotes() -> None:
    free, files = {"ids:0": (2, 7)}, {"ids:0": "a.raw", "level": "b.raw"}
    command = tensorrt_plan.infer_command("trtexec", "m.plan", free, files)
    assert command[-2:] == ["--shapes='ids:0':2x7", "--loadInputs='ids:0':a.raw,level:b.raw"]


def test_bounds_are_the_sizes_that_the_proof_goes_through() -> None:
    inputs = [
        {"name": "x", "shape": ["batch", 3]},
        {"name": "words", "shape": ["batch", -1]},
        {"name": "level", "shape": [1]},
    ]
    cases = {
        case: {"x": np.zeros((batch, 3)), "words": np.zeros((batch, width)), "level": np.zeros(1)}
        for case, batch, width in (("one", 1, 5), ("many", 32, 5), ("zeros", 7, 3))
    }
    assert profile(inputs, cases) == {
        "x": {"min": [1, 3], "opt": [32, 3], "max": [32, 3]},
        "words": {"min": [1, 3], "opt": [32, 5], "max": [32, 5]},
    }


@pytest.mark.parametrize(
    ("name", "file", "shape", "words"),
    [
        ("y", "y.output.2.3.fp32.raw", (2, 3), ""),
        ("layer/y:0", "layer_y_0.output.2.3.fp32.raw", (2, 3), ""),
        ("y", "y.output..fp32.raw", (), ""),
        ("y", "z.output.2.3.fp32.raw", None, "0 files for the output 'y'"),
        ("y", "y.output.2.3.fp8.raw", None, "output 'y' is fp8"),
    ],
)
def test_outputs_are_found_by_name_shape_and_type(
    tmp_path: Path, name: str, file: str, shape: tuple[int, ...] | None, words: str
) -> None:
    values = np.arange(np.prod(shape or 6), dtype=np.float32).reshape(shape or 6) if shape != () else np.float32(4)
    np.asarray(values).tofile(tmp_path / file)
    if shape is None:
        with pytest.raises(Fault, match=words):
            tensorrt_plan.dumped(tmp_path, name)
    else:
        found = tensorrt_plan.dumped(tmp_path, name)
        assert found.shape == shape
        assert np.array_equal(found, values)


@pytest.fixture
def run(tools: Tools, convert_files: Run, tmp_path: Path) -> Run:
    """A conversion of y = Relu(x + x) whose trtexec is the keyword `trtexec`."""

    async def one(trtexec: Path | str, operator: str = "Relu", **block: Any) -> Proven:
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 3]) for name in ("x:0", "y/z"))
        nodes = [helper.make_node("Add", ["x:0", "x:0"], ["sum"]), helper.make_node("Relu", ["sum"], ["y/z"], operator)]
        model = helper.make_model(
            helper.make_graph(nodes, "net", [x], [y]), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
        )
        save(model, tmp_path / "net.onnx")
        interpreters = Interpreters(tmp_path, tmp_path, tmp_path)
        exporter = WorkerExporter(interpreters.python)
        targets = WorkerTargetWriter(interpreters.environment, trtexec=str(trtexec))
        used = replace(tools, exporter=exporter, targets=targets)
        return await convert_files(used, tmp_path, weights="net.onnx", to=["tensorrt"], **block)

    return one


@pytest.fixture
def trtexec(tmp_path: Path) -> Path:
    file = tmp_path / "trtexec"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} {ZOO / "trtexec.py"} "$@"\n')
    file.chmod(0o755)
    return file


@pytest.mark.integration
async def test_an_engine_is_held_to_the_numbers_at_every_batch_size(run: Run, trtexec: Path) -> None:
    proven = await run(trtexec)
    (target,) = proven.report.targets
    assert (target.passed, target.framework, target.max_abs_error) == (True, "tensorrt 10.13.0", 0.0)
    assert len(target.comparisons) == len(proven.report.comparisons) >= 6
    (step,) = (step for step in proven.report.steps if step.name == "tensorrt")
    assert step.message == f"a TensorRT engine, equal on {len(proven.report.comparisons)} inputs; loads in 12.3 ms"
    head = (proven.folder / "tensorrt" / "model.plan").read_bytes().partition(b"\n")[0]
    assert head == b'{"min": {"x:0": [1, 3]}, "opt": {"x:0": [32, 3]}, "max": {"x:0": [32, 3]}}'


@pytest.mark.integration
async def test_what_trtexec_complains_of_is_told(run: Run, trtexec: Path) -> None:
    with pytest.raises(ConversionFault, match=r"trtexec does not build it: Static dimension mismatch in Strange$"):
        await run(trtexec, operator="Strange")


@pytest.mark.integration
async def test_where_there_is_no_trtexec_the_refusal_says_what_would_help(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConversionFault, match=r"trtexec is not there: install TensorRT .* \(TRAINYARD_TRTEXEC\)"):
        await run(tmp_path / "nowhere" / "trtexec")
