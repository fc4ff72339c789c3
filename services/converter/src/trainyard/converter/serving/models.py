"""The models of a repository on disk, loaded and unloaded; one onnxruntime session for each served version."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict
from tritonclient.grpc import model_config_pb2

from trainyard.common.errors import Conflict, InvalidInput, NotFound
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.adapters.repository import versions
from trainyard.converter.core.cases import Array, Case
from trainyard.converter.core.triton import ONNX_PLATFORM, TYPES
from trainyard.converter.ports import ExportFault

_NUMPY = {kind: name for name, kind in TYPES.items() if name != "bfloat16"}


@dataclass(slots=True)
class Model:
    name: str
    version: str
    config: Any
    runtime: Runtime
    labels: dict[str, list[str]]
    executions: int = 0
    inferences: int = 0
    """Rows, where the model is batched."""
    nanoseconds: int = 0

    def inputs(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """Name → dtype and full shape, −1 where free."""
        batch = (-1,) if self.config.max_batch_size else ()
        return {item.name: (_dtype(item.data_type), (*batch, *item.dims)) for item in self.config.input}

    def infer(self, inputs: Case) -> dict[str, Array]:
        """Raises InvalidInput for what does not fit the configuration."""
        began = time.perf_counter_ns()
        self._check(inputs)
        try:
            outputs = self.runtime.run(inputs)
        except ExportFault as error:
            raise InvalidInput.one(str(error)) from error
        self.executions += 1
        self.inferences += _batch(inputs) if self.config.max_batch_size else 1
        self.nanoseconds += time.perf_counter_ns() - began
        return outputs

    def _check(self, inputs: Case) -> None:
        wanted = self.inputs()
        if set(inputs) != set(wanted):
            raise InvalidInput.one(
                f"the inputs are {', '.join(sorted(wanted))}, not {', '.join(sorted(inputs)) or 'none'}"
            )
        batches = set()
        for name, (dtype, shape) in wanted.items():
            given = inputs[name]
            if given.dtype != dtype:
                raise InvalidInput.one(f"input {name!r} is {given.dtype}, {dtype} is needed")
            fits = len(given.shape) == len(shape) and all(
                want in {-1, have} for want, have in zip(shape, given.shape, strict=True)
            )
            if not fits:
                raise InvalidInput.one(f"input {name!r} has shape {list(given.shape)}, {list(shape)} is needed")
            batches.add(given.shape[0] if given.shape else 1)
        if self.config.max_batch_size:
            if len(batches) > 1:
                raise InvalidInput.one(f"the inputs have different batch sizes: {sorted(batches)}")
            if min(batches) < 1:
                raise InvalidInput.one("a batch has one row at least")
            if max(batches) > self.config.max_batch_size:
                raise InvalidInput.one(f"batch {max(batches)} is above max_batch_size {self.config.max_batch_size}")


def _batch(inputs: Case) -> int:
    return int(next(iter(inputs.values())).shape[0])


@dataclass(slots=True)
class Repository:
    folder: Path
    models: dict[str, Model] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)
    """Why a model is not loaded."""

    def names(self) -> list[str]:
        return sorted(item.parent.name for item in self.folder.glob("*/config.pbtxt"))

    def load_all(self) -> None:
        for name in self.names():
            try:
                self.load(name)
            except (InvalidInput, NotFound, OSError, UnicodeDecodeError) as error:
                self.faults[name] = str(error)

    def load(self, name: str) -> Model:
        """The newest version, in place of what was served before. Raises NotFound, InvalidInput."""
        folder = self.folder / name
        # A name comes from the network: only what the repository itself lists is opened.
        if name not in self.names():
            raise NotFound(f"there is no model {name!r} in the repository")
        config = model_config_pb2.ModelConfig()
        try:
            text_format.Parse((folder / "config.pbtxt").read_text(), config)
        except text_format.ParseError as error:
            raise InvalidInput.one(f"config.pbtxt of {name} cannot be read: {error}") from error
        if config.name != name:
            raise InvalidInput.one(f"config.pbtxt names {config.name!r}, the folder is {name!r}")
        if config.platform != ONNX_PLATFORM:
            raise InvalidInput.one(f"platform {config.platform!r} is not served here, only {ONNX_PLATFORM}")
        found = versions(folder)
        if not found:
            raise InvalidInput.one(f"model {name} has no version")
        try:
            runtime = Runtime(folder / str(found[-1]) / "model.onnx")
        except ExportFault as error:
            raise InvalidInput.one(str(error)) from error
        _fits(config, runtime)
        model = Model(name, str(found[-1]), config, runtime, _labels(folder, config))
        self.models[name] = model
        self.faults.pop(name, None)
        return model

    def unload(self, name: str) -> None:
        if self.models.pop(name, None) is None:
            raise NotFound(f"model {name!r} is not loaded")

    def get(self, name: str, version: str | None) -> Model:
        model = self.models.get(name)
        if model is None:
            if name in self.names():
                raise Conflict(f"model {name!r} is not loaded{': ' + self.faults[name] if name in self.faults else ''}")
            raise NotFound(f"there is no model {name!r}")
        if version is not None and version != model.version:
            raise NotFound(f"model {name!r} has no version {version} here, only {model.version}")
        return model


def _fits(config: Any, runtime: Runtime) -> None:
    """Raises InvalidInput for a configuration that names other tensors than the model has, or types not served here."""
    for noun, said, there in (("input", config.input, runtime.inputs), ("output", config.output, runtime.outputs)):
        names = [item.name for item in said]
        if sorted(names) != sorted(there):
            raise InvalidInput.one(
                f"config.pbtxt has the {noun}s {', '.join(names) or 'none'}, the model has {', '.join(there)}"
            )
        for item in said:
            _dtype(item.data_type)


def config_document(model: Model) -> dict[str, Any]:
    return dict(MessageToDict(model.config, preserving_proto_field_name=True))


def _dtype(kind: int) -> np.dtype[Any]:
    name = model_config_pb2.DataType.Name(kind)
    if name not in _NUMPY:
        raise InvalidInput.one(f"{name} is not served here")
    return np.dtype(_NUMPY[name])


def _labels(folder: Path, config: Any) -> dict[str, list[str]]:
    found = {}
    for item in config.output:
        file = folder / item.label_filename
        if item.label_filename and file.is_file():
            found[item.name] = file.read_text().splitlines()
    return found
