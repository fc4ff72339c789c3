"""A module written from ONNX: plain, equal, with free dimensions, and made of nothing that a model's names could say.

Runs in the interpreter of deploy/converters/torch; each case is a script of its own there, as the worker's would be.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from trainyard.converter import workers
from trainyard.converter.core import gate

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

FLOAT = TensorProto.FLOAT
RUN = """
import sys, numpy, torch
sys.path.insert(0, sys.argv[1])
from model import load
assert "onnx" not in sys.modules
data = numpy.load(sys.argv[2])
found = load()(*(torch.from_numpy(data[name]) for name in data.files))
numpy.savez(sys.argv[3], *(one.detach().numpy() for one in found))
"""
Run = Callable[..., subprocess.CompletedProcess[str]]
Floats = npt.NDArray[np.generic]


def model(
    nodes: list[onnx.NodeProto], weights: dict[str, Floats], shape: list[str | int], opset: int
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "case",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)


@pytest.fixture
def run(onnx_to_torch_python: Path, tmp_path: Path) -> Run:
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(onnx_to_torch_python), *arguments]
        where = Path(workers.__file__).parent
        return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False, timeout=200)

    return call


def equal(made: onnx.ModelProto, run: Run, folder: Path, *inputs: Floats) -> str:
    """Written, loaded and called on each input; equal to onnxruntime. The source of the module."""
    onnx.save(made, folder / "model.onnx")
    written = run("-m", "onnx_to_torch.write", str(folder / "model.onnx"), str(folder / "torch"))
    assert written.returncode == 0, written.stderr
    session = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    for value in inputs:
        np.savez(folder / "in.npz", x=value)
        called = run("-I", "-c", RUN, *(str(folder / one) for one in ("torch", "in.npz", "out.npz")))
        assert called.returncode == 0, called.stderr
        with np.load(folder / "out.npz") as found:
            for name, expected in zip(found.files, session.run(None, {"x": value}), strict=True):
                assert gate.compare("case", name, expected, found[name]).passed
    return (folder / "torch" / "model.py").read_text()


def test_old_batch_norm_dropout_and_slice(run: Run, tmp_path: Path) -> None:
    """o2t#192, o2t#152, o2t#241: operators in the form that they had in opset 7."""
    weights = {name: np.array([0.5, 1.0, 2.0], np.float32) for name in ("scale", "bias", "mean", "var")}
    nodes = [
        helper.make_node("BatchNormalization", ["x", *weights], ["a"]),
        helper.make_node("Dropout", ["a"], ["b"], ratio=0.4),
        helper.make_node("Slice", ["b"], ["y"], axes=[2], starts=[1], ends=[-1]),
    ]
    made = model(nodes, weights, ["n", 3, 5], 7)
    equal(made, run, tmp_path, np.random.default_rng(0).normal(size=(2, 3, 5)).astype(np.float32))


def test_the_batch_stays_free(run: Run, tmp_path: Path) -> None:
    """o2t#113: a Reshape in a model whose batch is free."""
    nodes = [helper.make_node("Reshape", ["x", "to"], ["y"])]
    made = model(nodes, {"to": np.array([0, -1], np.int64)}, ["n", 2, 3], 17)
    equal(made, run, tmp_path, *(np.ones((batch, 2, 3), np.float32) for batch in (1, 2, 7)))


def test_if_is_pythons_own(run: Run, tmp_path: Path) -> None:
    branches = {}
    for name, operator in (("then_branch", "Exp"), ("else_branch", "Neg")):
        out = helper.make_tensor_value_info(name, FLOAT, None)
        branches[name] = helper.make_graph([helper.make_node(operator, ["x"], [name])], name, [], [out])
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["positive"]),
        helper.make_node("If", ["positive"], ["y"], **branches),
    ]
    made = model(nodes, {"zero": np.array(0, np.float32)}, ["n"], 17)
    source = equal(made, run, tmp_path, np.ones(3, np.float32), -np.ones(3, np.float32))
    assert "if bool(" in source


def test_weights_are_trainable_and_bear_their_names(run: Run, tmp_path: Path) -> None:
    nodes = [helper.make_node("MatMul", ["x", "layer.weight"], ["y"])]
    made = model(nodes, {"layer.weight": np.ones((3, 2), np.float32)}, ["n", 3], 17)
    source = equal(made, run, tmp_path, np.ones((2, 3), np.float32))
    assert "self.layer_weight = torch.nn.Parameter" in source


def test_every_blocking_node_is_named_at_once(run: Run, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("TfIdfVectorizer", ["x"], ["a"], name="words"),
        helper.make_node("Odd", ["a"], ["y"], name="mine", domain="com.example"),
    ]
    onnx.save(model(nodes, {}, ["n"], 17), tmp_path / "model.onnx")
    refused = run("-m", "onnx_to_torch.write", str(tmp_path / "model.onnx"), str(tmp_path / "torch"))
    assert refused.returncode == 1
    for part in ("ai.onnx.TfIdfVectorizer 'words'", "com.example.Odd 'mine'", "opset 17", "Replace these nodes"):
        assert part in refused.stderr
    assert not (tmp_path / "torch").exists()


def test_names_and_strings_of_a_model_are_never_code(run: Run, tmp_path: Path) -> None:
    """Foreign text with quotes, line breaks and calls, wherever a model can hold text that the writer reads."""
    mark = tmp_path / "ran"
    evil = f'"""\n\'); open({json.dumps(str(mark))}, "w").close(); ("\u2028{{0}}'
    nodes = [
        helper.make_node("Einsum", ["x", evil], [evil + "1"], name=evil, equation="ij,jk->ik"),
        helper.make_node("Pad", [evil + "1", "pads"], ["y"], name="self.__class__", mode="reflect"),
    ]
    weights = {evil: np.ones((3, 3), np.float32), "pads": np.array([0, 1, 0, 1], np.int64)}
    made = model(nodes, weights, ["n", 3], 17)
    made.graph.doc_string = made.producer_name = evil
    equal(made, run, tmp_path, np.ones((2, 3), np.float32))
    made.graph.node[1].attribute[0].s = evil.encode()
    onnx.save(made, tmp_path / "model.onnx")
    run("-m", "onnx_to_torch.write", str(tmp_path / "model.onnx"), str(tmp_path / "again"))
    compile((tmp_path / "again" / "model.py").read_text(), "model.py", "exec")
    assert not mark.exists()


@pytest.mark.frameworks
def test_the_node_tests_of_onnx(onnx_to_torch_python: Path) -> None:
    """At least nine in ten of what onnxruntime passes, and more than onnx2torch: the runner's own exit status says so."""
    runner = Path(__file__).parents[3] / "tests" / "bench" / "bench_onnx_to_torch.py"
    told = subprocess.run(
        [str(onnx_to_torch_python), str(runner)], capture_output=True, text=True, check=False, timeout=280
    )
    assert told.returncode == 0, told.stdout + told.stderr[-2000:]
