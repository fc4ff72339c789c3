"""What a model's `config.pbtxt` asks for, as this server understands it: tensors, versions, and what it can't honour.

Nothing that a configuration asks for is passed over in silence. What would change the answers (state between requests, ragged
batches) is refused when the model is loaded; what only changes how fast they come is a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format
from google.protobuf.json_format import MessageToDict
from tritonclient.grpc import model_config_pb2

from trainyard.common.errors import InvalidInput
from trainyard.converter.core.triton import ENSEMBLE_PLATFORM, MODEL, ONNX_PLATFORM
from trainyard.converter.serving.datatypes import BYTES, DTYPES

FILE = "config.pbtxt"
_HONOURED = {
    "name", "platform", "backend", "version_policy", "max_batch_size", "input", "output", "default_model_filename",
    "ensemble_scheduling", "model_warmup", "response_cache",
}  # fmt: skip
_REFUSED = {
    "sequence_batching": "a sequence has a state, and requests are answered one by one here",
    "batch_input": "batch inputs are made by Triton's batcher",
    "batch_output": "batch outputs are made by Triton's batcher",
    "model_operations": "custom operators are libraries, and none are loaded here",
    "model_repository_agents": "agents change what lies in the repository, and none are run here",
}
_NOTES = {
    "dynamic_batching": "requests are not merged into batches here",
    "instance_group": "a model has one instance here, on the CPU",
}


@dataclass(frozen=True, slots=True)
class Slot:
    """One input or output as clients see it."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    """The whole shape, −1 where it is free."""
    inner: tuple[int, ...] | None = None
    """What the model has in its place, where the configuration reshapes."""
    labels: tuple[str, ...] = ()

    @property
    def dtype(self) -> np.dtype[Any]:
        return DTYPES[self.datatype]


@dataclass(frozen=True, slots=True)
class Configuration:
    message: Any
    """Triton's own ModelConfig."""
    inputs: Mapping[str, Slot]
    outputs: Mapping[str, Slot]
    notes: tuple[str, ...]
    """What it asks for that is not honoured here."""

    @property
    def name(self) -> str:
        return str(self.message.name)

    @property
    def max_batch_size(self) -> int:
        return int(self.message.max_batch_size)

    @property
    def file(self) -> str:
        """Of the model, in its version's folder."""
        return self.message.default_model_filename or MODEL

    @property
    def platform(self) -> str:
        return str(self.message.platform or self.message.backend)

    def versions(self, found: Sequence[int]) -> list[int]:
        """Which of the versions on disk are served, in order. Raises InvalidInput where none is."""
        policy = self.message.version_policy
        match policy.WhichOneof("policy_choice"):
            case "all":
                chosen = sorted(found)
            case "specific":
                chosen = sorted(set(policy.specific.versions) & set(found))
            case _:
                chosen = sorted(found)[-max(1, policy.latest.num_versions) :]
        if not chosen:
            there = f"there are {', '.join(map(str, found))}" if found else "there is none"
            raise InvalidInput.one(f"model {self.name} has no version that its version_policy asks for: {there}")
        return chosen

    def document(self) -> dict[str, Any]:
        return dict(MessageToDict(self.message, preserving_proto_field_name=True))


def read(folder: Path) -> Configuration:
    """Raises InvalidInput that says what in the file cannot be served."""
    name = folder.name
    message = model_config_pb2.ModelConfig()
    try:
        text_format.Parse((folder / FILE).read_text(), message)
    except (text_format.ParseError, UnicodeDecodeError, OSError) as error:
        raise InvalidInput.one(f"{FILE} of {name} cannot be read: {error}") from error
    if message.name != name:
        raise InvalidInput.one(f"{FILE} names {message.name!r}, the folder is {name!r}")
    platform = message.platform or message.backend
    if platform not in {ONNX_PLATFORM, "onnxruntime", ENSEMBLE_PLATFORM}:
        raise InvalidInput.one(
            f"platform {platform!r} is not served here, only {ONNX_PLATFORM} and {ENSEMBLE_PLATFORM}"
        )
    asked = [field.name for field, _ in message.ListFields()]
    for field in asked:
        if field in _REFUSED:
            raise InvalidInput.one(f"{field} of {name} is not served here: {_REFUSED[field]}")
    if "/" in message.default_model_filename:
        raise InvalidInput.one(f"default_model_filename of {name} is no file of a version's folder")
    if message.model_transaction_policy.decoupled:
        raise InvalidInput.one(f"{name} is decoupled: a request has one answer here")
    honoured = _HONOURED - {"response_cache"} if platform == ENSEMBLE_PLATFORM else _HONOURED
    batch = (-1,) if message.max_batch_size else ()
    return Configuration(
        message,
        _slots("input", message.input, batch, folder),
        _slots("output", message.output, batch, folder),
        tuple(_NOTES.get(field, f"{field} counts under Triton alone") for field in asked if field not in honoured),
    )


def _slots(noun: str, items: Iterable[Any], batch: tuple[int, ...], folder: Path) -> dict[str, Slot]:
    found: dict[str, Slot] = {}
    for item in items:
        if item.name in found:
            raise InvalidInput.one(f"{FILE} has the {noun} {item.name!r} twice")
        for wish in ("optional", "allow_ragged_batch", "is_shape_tensor"):
            if getattr(item, wish, False):
                raise InvalidInput.one(f"{noun} {item.name!r} is not served here: {wish}")
        inner = (*batch, *item.reshape.shape) if item.HasField("reshape") else None
        labels = _labels(folder, item.label_filename) if noun == "output" else ()
        shape = (*batch, *map(int, item.dims))
        found[item.name] = Slot(item.name, datatype(item.data_type), shape, inner, labels)
    return found


def datatype(kind: int) -> str:
    """TYPE_FP32 as FP32. Raises InvalidInput."""
    name = str(model_config_pb2.DataType.Name(kind)).removeprefix("TYPE_")
    name = BYTES if name == "STRING" else name
    if name not in DTYPES:
        raise InvalidInput.one(f"TYPE_{name} is not served here")
    return name


def _labels(folder: Path, file: str) -> tuple[str, ...]:
    """One a line. A file that is named and is not there is a mistake; one elsewhere is not opened."""
    if not file:
        return ()
    path = folder / file
    try:
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InvalidInput.one(f"the labels {file!r} lie outside of the model's folder")
        return tuple(path.read_text().splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput.one(f"the labels {file!r} cannot be read: {error}") from error
