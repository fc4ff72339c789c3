"""Every model of the zoo through the real worker and onnxruntime: equal numbers at several batch sizes, or a clear refusal.

The worker runs on all of them in one process of the torch image (torch is slow to import); `test_torch_worker.py` runs it
alone, in its sandbox.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trainyard.common.contract.conversions import TensorSpec
from trainyard.converter.adapters import onnx_model, sandbox, worker, worker_exporter
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.core import batching, cases, gate
from trainyard.converter.core.cases import Case
from trainyard.converter.core.ladder import Limits, Rung
from trainyard.converter.ports import Exported, ExportFault, ExportRequest, ModelFault

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

ZOO = Path(__file__).parent / "zoo"
RUNGS = (Rung("dynamo", 20), Rung("torchscript", 17))
LIMITS = Limits(20, 10)
BATCHES = (1, 2, 7)


def x(*shape: int, dtype: Any = "float32", name: str = "x") -> TensorSpec:
    return TensorSpec(name=name, dtype=dtype, shape=("batch", *shape))


MODELS: dict[str, list[TensorSpec]] = {
    "Residual": [x(3, 16, 16)],
    "Masked": [x(6)],
    "Embedded": [x(-1, dtype="int64", name="ids"), x(-1, name="mask")],
    "lstm": [x(4, 5)],
    "gru": [x(4, 5)],
    "unshuffle": [x(3, 4, 6)],
    "Repeated": [x(4)],
    "Attention": [x(2, 4, 8)],
    "Pooled": [x(2, 4, 4)],
    "Adaptive": [x(2, 12, 12)],
    "BatchStatistics": [x(4, 3)],
    "InTraining": [x(4)],
    "Doubles": [x(4, dtype="float64")],
    "Unused": [x(3), x(3, name="spare")],
    "Twice": [x(3)],
    "Tied": [x(4, dtype="int64", name="ids")],
    "Typed": [x(3, dtype="bool", name="flag"), x(3, dtype="int32", name="count"), x(3, name="level")],
    "Spectrum": [x(8)],
}


FAULTY = {
    "nowhere": "convert.model 'models:nowhere' cannot be imported from .*: module 'models' has no attribute 'nowhere'",
    "broken": r"models:broken failed: ValueError: no such width \(models.py:\d+\)",
    "leaves": "models:leaves failed: SystemExit: 3",
    "not_a_module": "models:not_a_module gave a int, a torch.nn.Module is needed",
    "NotTensors": "output 'output_1' is a float; an ONNX model gives tensors only",
    "Bfloat": "output 'output_0' is torch.bfloat16, which cannot be compared: cast it in the model",
    "Fails": r"the model fails on its declared inputs \(random, batch 1\): RuntimeError: .* \(models.py:\d+\)",
}
WITHOUT_WEIGHTS = ("nowhere", "broken", "leaves", "not_a_module")
REFUSED = {"Branches": [x(3)], "Baked": [x(3)]}
"""What follows the data cannot be traced; a trace of one branch is right for some batches alone."""


@dataclass(frozen=True, slots=True)
class Tried:
    cases: dict[str, Case]
    exported: Exported
    runtime: Runtime
    signature: onnx_model.Signature

    def faults(self) -> list[str]:
        found = {case: self.runtime.run(inputs) for case, inputs in self.cases.items()}
        compared = [
            gate.compare(case, name, reference, found[case][name])
            for case, outputs in self.exported.references.items()
            for name, reference in outputs.items()
        ]
        assert len(compared) == len(self.cases) * len(self.exported.output_names)
        return [f"{item.case}, {item.output}: {item.fault}" for item in compared if not item.passed]

    def obstacle(self, name: str) -> str:
        return batching.obstacle(MODELS[name], self.exported.references, BATCHES)

    def shapes(self) -> list[tuple[int, ...]]:
        return [item.shape for item in self.signature.outputs]


class Zoo:
    """Every model on every rung, made once."""

    def __init__(self, python: Path, root: Path, request: Callable[..., ExportRequest]) -> None:
        self._root = root
        self._request = request
        inputs = {**MODELS, **REFUSED, **{name: [x(3)] for name in FAULTY}}
        stored = [name for name in inputs if name not in WITHOUT_WEIGHTS]
        subprocess.run([python, ZOO / "prepare.py", ZOO, root, *stored], check=True, timeout=120)
        folders = [self._prepare(rung, name, specs) for rung in RUNGS for name, specs in inputs.items()]
        ended = subprocess.run(
            worker.command(python, *folders), check=False, timeout=600, capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stderr[-2000:]

    def _prepare(self, rung: Rung, name: str, inputs: list[TensorSpec]) -> Path:
        folder = self._root / rung.exporter / name
        folder.mkdir(parents=True)
        request = self._request(
            folder, name, inputs, weights=self._root / f"{name}.pt", rung=rung, cases=cases.build(inputs, BATCHES, None)
        )
        worker.lay_out(folder, worker_exporter.document(request), request.cases, sandbox.Limits())
        return folder

    def read(self, name: str, exporter: str = "dynamo") -> Tried:
        """Raises ModelFault, ExportFault."""
        folder = self._root / exporter / name
        made = cases.build({**MODELS, **REFUSED}.get(name, [x(3)]), BATCHES, None)
        exported = worker_exporter.answer(folder, sandbox.Outcome(0, "", ""), sandbox.Limits(), made)
        signature = onnx_model.read(exported.onnx, LIMITS)
        return Tried(made, exported, Runtime(exported.onnx), signature)


@pytest.fixture(scope="module")
def zoo(
    torch_python: Path, tmp_path_factory: pytest.TempPathFactory, torch_request: Callable[..., ExportRequest]
) -> Zoo:
    return Zoo(torch_python, tmp_path_factory.mktemp("zoo"), torch_request)


def proven(zoo: Zoo, name: str) -> Tried:
    """On the first rung that holds, as a conversion would take it."""
    told = []
    for rung in RUNGS:
        try:
            tried = zoo.read(name, rung.exporter)
        except ExportFault as error:
            told.append(str(error))
            continue
        faults = tried.faults()
        if not faults:
            return tried
        told.append(faults[0])
    raise AssertionError(f"no rung holds: {told}")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_equal_at_every_batch_size(zoo: Zoo, name: str) -> None:
    tried = proven(zoo, name)
    assert onnx_model.fixed_batch(tried.signature, {item.name for item in MODELS[name]}) == []
    assert tried.signature.opset <= LIMITS.opset
    assert tried.signature.ir_version <= LIMITS.ir_version


@pytest.mark.parametrize("name", sorted(FAULTY))
def test_a_fault_of_the_model_is_told_in_its_words(zoo: Zoo, name: str) -> None:
    with pytest.raises(ModelFault, match=FAULTY[name]):
        zoo.read(name)


def test_what_cannot_be_traced_is_refused_with_its_place(zoo: Zoo) -> None:
    with pytest.raises(ExportFault, match=r"models\.py:\d+") as caught:
        zoo.read("Branches")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_model_that_is_right_for_one_batch_alone_is_refused(zoo: Zoo) -> None:
    with pytest.raises((AssertionError, ExportFault), match=r"no rung holds|onnxruntime fails at it"):
        proven(zoo, "Baked")


def test_an_operator_that_the_older_exporter_lacks_is_named(zoo: Zoo) -> None:
    with pytest.raises(ExportFault, match="fft_fft"):
        zoo.read("Spectrum", "torchscript")


def test_what_an_exporter_gets_wrong_does_not_pass(zoo: Zoo) -> None:
    """Today each exporter has one of these wrong; the gate is what tells."""
    assert any("elements differ" in fault for fault in zoo.read("Repeated", "torchscript").faults())
    assert not zoo.read("Repeated").faults()
    assert not zoo.read("Attention", "torchscript").faults()


def test_fixed_dimensions_stay_fixed(zoo: Zoo) -> None:
    assert proven(zoo, "Embedded").shapes() == [(-1, -1, 40)]
    assert proven(zoo, "Residual").shapes() == [(-1, 4)]


def test_an_unused_input_is_seen_to_be_missing(zoo: Zoo) -> None:
    tried = proven(zoo, "Unused")
    assert [item.name for item in tried.signature.inputs] in (["x"], ["x", "spare"])
    assert tried.runtime.inputs == [item.name for item in tried.signature.inputs]


def test_the_same_tensor_twice_has_two_names(zoo: Zoo) -> None:
    assert [item.name for item in proven(zoo, "Twice").signature.outputs] == ["output_0", "output_1"]


def test_tied_weights_are_stored_once(zoo: Zoo) -> None:
    one_copy = 500 * 64 * 4
    assert one_copy <= proven(zoo, "Tied").exported.onnx.stat().st_size < 1.5 * one_copy


def test_dtypes_arrive_as_they_were(zoo: Zoo) -> None:
    outputs = proven(zoo, "Typed").signature.outputs
    assert [item.dtype for item in outputs] == ["bool", "int32", "float16", "bool", "uint8"]


def test_dropout_is_off_after_export_in_training_mode(zoo: Zoo) -> None:
    assert "Dropout" not in proven(zoo, "InTraining").signature.operators


def test_rows_that_change_each_other_are_found(zoo: Zoo) -> None:
    assert (
        proven(zoo, "BatchStatistics").obstacle("BatchStatistics").startswith("the rows of a batch change each other")
    )
    assert proven(zoo, "Residual").obstacle("Residual") == ""
    assert "has shape [2] for a batch of 1" in proven(zoo, "Repeated").obstacle("Repeated")
