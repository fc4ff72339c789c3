"""Writing a Triton model repository: checked first, whole or not at all, a new version beside the old ones."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from trainyard.converter.adapters import onnx_files
from trainyard.converter.core import ensembles, triton
from trainyard.converter.core.ensembles import Ensemble
from trainyard.converter.core.triton import ModelConfig

LABELS = "labels.txt"
ORIGIN = "conversion.txt"
"""In a version folder: the conversion that it came from. Triton passes it over."""
MOST_SENT = 2**30
"""Bytes of a model that is sent along with the request to load it: they go as text in one message, and none of protobuf
reaches 2 GiB."""


def to_text(config: ModelConfig) -> str:
    """config.pbtxt, by Triton's own message type, so that its syntax is right by construction."""
    triton.check(config)
    message = _message(config, triton.ONNX_PLATFORM)
    if config.labels:
        message.output[triton.labelled(config)].label_filename = LABELS
    if config.max_batch_size:
        message.dynamic_batching.SetInParent()
    message.instance_group.add(kind=model_config_pb2.ModelInstanceGroup.KIND_CPU, count=1)
    return text_of(message)


def to_ensemble_text(ensemble: Ensemble, models: Mapping[str, ModelConfig]) -> str:
    """The same of an ensemble, checked against the models of its steps."""
    triton.check(ensemble.config)
    ensembles.check(ensemble, models)
    message = _message(ensemble.config, triton.ENSEMBLE_PLATFORM)
    for step in ensemble.steps:
        entry = message.ensemble_scheduling.step.add(model_name=step.model, model_version=step.version)
        entry.input_map.update(step.inputs)
        entry.output_map.update(step.outputs)
    return text_of(message)


def _message(config: ModelConfig, platform: str) -> Any:
    message = model_config_pb2.ModelConfig(name=config.name, platform=platform, max_batch_size=config.max_batch_size)
    for target, items in ((message.input, config.inputs), (message.output, config.outputs)):
        for item in items:
            entry = target.add(name=item.name, data_type=triton.TYPES[item.dtype])
            entry.dims.extend(item.shape or (1,))
            if not item.shape:
                entry.reshape.SetInParent()
    message.version_policy.latest.num_versions = 1
    return message


def text_of(message: Any) -> str:
    """Of Triton's own ModelConfig."""
    text = str(text_format.MessageToString(message))
    # Protobuf leaves a 0 out; the reader of the file should see that it was decided.
    return text if message.max_batch_size else text + "max_batch_size: 0\n"


def write_ensemble(repository: Path, ensemble: Ensemble, models: Mapping[str, ModelConfig]) -> None:
    """Its configuration, and the version that Triton wants to see: an empty folder. Raises InvalidInput."""
    text = to_ensemble_text(ensemble, models)
    folder = repository / ensemble.config.name
    (folder / "1").mkdir(parents=True, exist_ok=True)
    replace(folder / "config.pbtxt", text)


def write(repository: Path, config: ModelConfig, onnx: Path, origin: str = "") -> int:
    """Adds the model as its next version and returns its number; see `add`."""
    text = to_text(config)
    beside = {LABELS: "\n".join(config.labels) + "\n"} if config.labels else {}
    return add(repository, config.name, text, onnx, beside, origin)


def add(repository: Path, name: str, text: str, model: Path, beside: Mapping[str, str], origin: str = "") -> int:
    """Adds `model` (a file, or the folder of a version) as the next version of `name`; a version is never written over, also
    when several add at once. `origin` (a conversion's id): the version that came from there before is left as it is."""
    folder = repository / name
    folder.mkdir(parents=True, exist_ok=True)
    known = versions(folder)
    there = next((item for item in known if origin and _origin(folder / str(item)) == origin), None)
    if there is not None:
        return there
    writing = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    writing.chmod(0o755)
    if model.is_dir():
        shutil.copytree(model, writing, dirs_exist_ok=True)
    else:
        _put(model, writing / triton.MODEL)
    if origin:
        (writing / ORIGIN).write_text(origin)
    for file, content in beside.items():
        replace(folder / file, content)
    replace(folder / "config.pbtxt", text)
    version = max(known, default=0) + 1
    while True:
        try:
            writing.rename(folder / str(version))
        except OSError as error:
            if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                raise
            version += 1
        else:
            return version


def files_of(version: Path) -> list[Path]:
    """What of a version's folder belongs to the model."""
    return [item for item in sorted(version.rglob("*")) if item.is_file() and item.name != ORIGIN]


def sendable(version: Path) -> bool:
    """Whether a server can be sent the model; else it has to read it from a folder."""
    return sum(item.stat().st_size for item in files_of(version)) <= MOST_SENT


def _put(model: Path, target: Path) -> None:
    """One file; of a model with weights beside it, a folder of this name with both, as Triton's documentation has it."""
    if onnx_files.beside(model).exists():
        target.mkdir()
        target /= triton.MODEL
    onnx_files.copy(model, target)


def versions(folder: Path) -> list[int]:
    """Those that Triton sees, in order: folders whose names are numbers and do not begin with 0."""
    names = (item.name for item in folder.iterdir() if item.is_dir())
    return sorted(int(name) for name in names if name.isascii() and name.isdigit() and not name.startswith("0"))


def _origin(version: Path) -> str:
    try:
        return (version / ORIGIN).read_text()
    except FileNotFoundError:
        return ""


def replace(path: Path, content: str | bytes) -> None:
    """Whole or not at all, for whoever reads it meanwhile."""
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        file.write(content.encode() if isinstance(content, str) else content)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
