"""A small ONNX model made by hand, an exporter that gives it, and servers for it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from trainyard.common import ids
from trainyard.common.clock import SystemClock
from trainyard.common.contract.conversions import ConversionSpec, ConvertSpec, TensorSpec
from trainyard.common.contract.events import ConversionRequested
from trainyard.common.errors import Retryable, TrainyardError
from trainyard.common.images import cache, catalogue
from trainyard.converter.adapters import repository
from trainyard.converter.adapters.images import Interpreters
from trainyard.converter.adapters.serving_check import TritonServingCheck
from trainyard.converter.adapters.worker_exporter import WorkerExporter
from trainyard.converter.adapters.worker_target import WorkerTargetWriter
from trainyard.converter.conversion import Proven, convert
from trainyard.converter.core import cases, formats, triton
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.ladder import Rung
from trainyard.converter.core.report import ConversionReport
from trainyard.converter.core.triton import Tensor
from trainyard.converter.ports import (
    Exported,
    ExportFault,
    ExportRequest,
    Inspected,
    Layers,
    ModelFault,
    TargetRequest,
    Written,
)
from trainyard.converter.preparation import ConversionFault, Tools
from trainyard.converter.serving.repository import Repository
from trainyard.converter.testing.evidence import Subject, append, of_report

ZOO = Path(__file__).parent / "zoo"


def affine(path: Path, batch: str | int = "batch") -> Path:
    """y = 2·x + 1 on float32 [batch, 3], and its twin z of the same values as float64."""
    nodes = [
        helper.make_node("Mul", ["x", "two"], ["doubled"]),
        helper.make_node("Add", ["doubled", "one"], ["y"]),
        helper.make_node("Cast", ["y"], ["z"], to=TensorProto.DOUBLE),
    ]
    graph = helper.make_graph(
        nodes,
        "affine",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3])],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3]),
            helper.make_tensor_value_info("z", TensorProto.DOUBLE, [batch, 3]),
        ],
        [
            helper.make_tensor("two", TensorProto.FLOAT, [], [2.0]),
            helper.make_tensor("one", TensorProto.FLOAT, [], [1.0]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def affine_config(name: str = "affine", max_batch: int = 4) -> triton.ModelConfig:
    return triton.configure(
        name,
        [Tensor("x", "float32", (-1, 3))],
        [Tensor("y", "float32", (-1, 3)), Tensor("z", "float64", (-1, 3))],
        max_batch=max_batch,
        labels=("low", "middle", "high"),
    )


class AffineExporter:
    """An exporter whose model is y = 2·x + 1. `acts` says how each call goes; the last one goes on for ever."""

    def __init__(self) -> None:
        self.acts: list[str] = ["right"]
        self.rungs: list[Rung] = []

    @asynccontextmanager
    async def session(self) -> AsyncIterator[AffineExporter]:
        yield self

    async def inspect(self, request: ExportRequest) -> Inspected:
        del request
        return Inspected((Tensor("x", "float32", (-1, 3)),), (), "numpy")

    async def export(self, request: ExportRequest) -> Exported:
        assert request.rung is not None
        self.rungs.append(request.rung)
        act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
        match act:
            case "model":
                raise ModelFault("the weights do not fit the model")
            case "export":
                raise ExportFault(f"operator aten.strange is not known to {request.rung.exporter}")
            case "machine":
                raise Retryable("the disk is full", delay=0.01)
            case "bug":
                raise ZeroDivisionError("nobody thought of this")
        request.folder.mkdir(parents=True, exist_ok=True)
        references = {}
        for case, inputs in request.cases.items():
            y = np.float32(2) * inputs["x"].astype(np.float32) + np.float32(1 if act != "wrong" else 1.5)
            references[case] = {"y": y, "z": y.astype(np.float64)}
        model = affine(request.folder / "model.onnx", batch=2 if act == "fixed" else "batch")
        return Exported(model, references, ("y", "z"), 0, "numpy", "none")

    async def layers(self, request: ExportRequest) -> Layers:
        raise ExportFault("an affine model has no layers")


class AffineTargets:
    """A writer of other formats whose files hold y = 2·x + 1. `skew` is added to what they compute; `refusal`: target → why
    it is not written."""

    def __init__(self) -> None:
        self.skew = 0.0
        self.refusal: dict[str, str] = {}
        self.asked: list[TargetRequest] = []

    async def write(self, request: TargetRequest) -> Written:
        self.asked.append(request)
        if request.target in self.refusal:
            raise ExportFault(self.refusal[request.target])
        files = request.folder / "files"
        files.mkdir()
        (files / "model.txt").write_text("y = 2·x + 1")
        found = {}
        for case, inputs in request.cases.items():
            y = np.float32(2) * inputs["x"].astype(np.float32) + np.float32(1 + self.skew)
            found[case] = {"y": y, "z": y.astype(np.float64)}
        return Written(files, found, "paper 1")


class InProcessServing:
    """The embedded server's models without its socket. `skew` is added to what it answers."""

    def __init__(self) -> None:
        self.skew = 0.0
        self.refusal: TrainyardError | None = None

    async def ask(self, folder: Path, name: str, inputs: Case) -> tuple[str, str, dict[str, Array]]:
        if self.refusal is not None:
            raise self.refusal
        repository = Repository(folder)
        repository.load(name)
        outputs = repository.get(name).infer(inputs)
        return "here", "in-process 1", {key: value + value.dtype.type(self.skew) for key, value in outputs.items()}


@pytest.fixture(scope="session")
def torch_request() -> Callable[..., ExportRequest]:
    """A model of the zoo on one rung; keywords change the request."""

    def make(folder: Path, model: str, inputs: Sequence[TensorSpec], **changes: Any) -> ExportRequest:
        request = ExportRequest(
            format="torch-state-dict",
            source=formats.SOURCES["torch-state-dict"],
            image="pytorch-cpu",
            workdir=Path(__file__).parent / "zoo",
            model=f"models:{model}",
            weights=folder / f"{model}.pt",
            trust=False,
            signature=None,
            inputs=tuple(item.model_dump(mode="json") for item in inputs),
            output_names=(),
            rung=Rung("dynamo", 18),
            cases=cases.build(inputs, (1, 2, 3), None),
            folder=folder,
        )
        return replace(request, **changes)

    return make


@pytest.fixture(scope="session")
def onnx_to_torch_python(images: Path) -> Path:
    """The interpreter that writes PyTorch modules from ONNX; TRAINYARD_TEST_ONNX_TO_TORCH_PYTHON names one that is there."""
    given = os.environ.get("TRAINYARD_TEST_ONNX_TO_TORCH_PYTHON")
    if given:
        return Path(given)
    recipe = catalogue.read(Path(__file__).parents[3] / "deploy" / "converters", "torch")
    return cache.ensure(recipe, images, lambda words: None).python


@pytest.fixture(scope="session")
def convert_files() -> Callable[..., Awaitable[Proven]]:
    """A whole conversion with these tools of what lies in a folder; other keywords are its block."""

    async def tell(step: str, words: str, fraction: float) -> None:
        del step, words, fraction

    async def run(tools: Tools, folder: Path, *, workdir: Path = ZOO, image: str | None = None, **block: Any) -> Proven:
        made = ConvertSpec.model_validate({"name": "model", **block})
        spec = ConversionSpec(workdir=str(workdir), artifacts=str(folder), image=image, convert=made)
        return await convert(ConversionRequested(conversion_id=ids.new_conversion_id(), spec=spec), tools, tell)

    return run


@pytest.fixture
def convert_with(tools: Tools, convert_files: Callable[..., Awaitable[Proven]]) -> Callable[..., Awaitable[Proven]]:
    """A whole conversion by the real worker: the interpreter that reads the model, the folder it lies in, the block."""

    async def run(python: Path, folder: Path, **block: Any) -> Proven:
        async def interpreter(request: ExportRequest) -> Path:
            del request
            return python

        return await convert_files(replace(tools, exporter=WorkerExporter(interpreter)), folder, **block)

    return run


@pytest.fixture
def real_tools(images: Path, tools: Tools) -> Tools:
    """With workers in the environments of their recipes, and the server that ships."""
    deploy = Path(__file__).parents[3] / "deploy"
    interpreters = Interpreters(deploy / "images", deploy / "converters", images)
    exporter, targets = WorkerExporter(interpreters.python), WorkerTargetWriter(interpreters.environment)
    return replace(tools, exporter=exporter, targets=targets, serving=TritonServingCheck())


@pytest.fixture(scope="session")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Subject, ConversionReport], None]:
    """Keeps what became of a model for the page of conversions; TRAINYARD_TEST_EVIDENCE names the file."""
    given = os.environ.get("TRAINYARD_TEST_EVIDENCE")
    file = Path(given) if given else tmp_path_factory.mktemp("evidence") / "evidence.jsonl"
    return lambda subject, report: append(file, of_report(subject, report))


@pytest.fixture(scope="session")
def read_report() -> Callable[[ConversionFault], ConversionReport]:
    """What a conversion that failed has told."""

    def read(fault: ConversionFault) -> ConversionReport:
        assert fault.report is not None
        return ConversionReport.model_validate_json((fault.report / "report.json").read_text())

    return read


@pytest.fixture
def exporter() -> AffineExporter:
    return AffineExporter()


@pytest.fixture
def server() -> InProcessServing:
    return InProcessServing()


@pytest.fixture
def targets() -> AffineTargets:
    return AffineTargets()


@pytest.fixture
def tools(tmp_path: Path, exporter: AffineExporter, server: InProcessServing, targets: AffineTargets) -> Tools:
    return Tools(exporter, server, SystemClock(), tmp_path / "state", targets)


@pytest.fixture
def request_affine(tmp_path: Path) -> Callable[..., ConversionRequested]:
    """A request for the affine model; keywords change its `convert:` block."""
    artifacts = tmp_path / "output"
    artifacts.mkdir()
    (artifacts / "model.pt").touch()  # the exporter of these tests reads nothing
    np.savez(artifacts / "samples.npz", x=np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3), labels=np.arange(5))

    def make(**changes: Any) -> ConversionRequested:
        block = {
            "name": "affine",
            "model": "model:build",
            "inputs": [{"name": "x", "shape": ["batch", 3]}],
            "samples": "samples.npz",
            "batch_sizes": [1, 2, 5],
            "labels": ["low", "middle", "high"],
            **changes,
        }
        spec = ConversionSpec(
            workdir=str(tmp_path), artifacts=str(artifacts), convert=ConvertSpec.model_validate(block)
        )
        return ConversionRequested(conversion_id=ids.new_conversion_id(), spec=spec)

    return make


@pytest.fixture(scope="session")
def affine_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = 2·x + 1 as ONNX."""
    return affine(tmp_path_factory.mktemp("affine") / "affine.onnx")


@pytest.fixture
def add_affine(affine_file: Path) -> Callable[..., int]:
    """Adds the model `affine` to a repository, as its next version."""
    return lambda folder, name="affine": repository.write(folder, affine_config(name), affine_file)
