"""Writing a Triton model repository: checked first, whole or not at all, a new version beside the old ones."""

from __future__ import annotations

import shutil
from pathlib import Path

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from trainyard.converter.core import triton
from trainyard.converter.core.triton import ModelConfig

LABELS = "labels.txt"


def to_text(config: ModelConfig) -> str:
    """config.pbtxt, by Triton's own message type, so that its syntax is right by construction."""
    triton.check(config)
    message = model_config_pb2.ModelConfig(
        name=config.name, platform=triton.ONNX_PLATFORM, max_batch_size=config.max_batch_size
    )
    for target, items in ((message.input, config.inputs), (message.output, config.outputs)):
        for item in items:
            entry = target.add(name=item.name, data_type=triton.TYPES[item.dtype])
            entry.dims.extend(item.shape)
    if config.labels:
        message.output[0].label_filename = LABELS
    if config.max_batch_size:
        message.dynamic_batching.SetInParent()
    message.version_policy.latest.num_versions = 1
    message.instance_group.add(kind=model_config_pb2.ModelInstanceGroup.KIND_CPU, count=1)
    return str(text_format.MessageToString(message))


def write(repository: Path, config: ModelConfig, onnx: Path) -> int:
    """Adds the model as its next version and returns its number. The version folder appears whole."""
    text = to_text(config)
    folder = repository / config.name
    folder.mkdir(parents=True, exist_ok=True)
    version = max((int(item.name) for item in folder.iterdir() if item.name.isdigit()), default=0) + 1
    writing = folder / f".writing-{version}"
    shutil.rmtree(writing, ignore_errors=True)
    writing.mkdir()
    shutil.copy2(onnx, writing / "model.onnx")
    if config.labels:
        _replace(folder / LABELS, "\n".join(config.labels) + "\n")
    _replace(folder / "config.pbtxt", text)
    writing.rename(folder / str(version))
    return version


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.writing")
    temporary.write_text(text)
    temporary.replace(path)
