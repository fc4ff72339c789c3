"""A version of an ONNX model, opened: an onnxruntime session that has what the configuration says."""

from __future__ import annotations

from pathlib import Path

from trainyard.common.errors import InvalidInput
from trainyard.converter.adapters.onnx_model import Runtime
from trainyard.converter.core.triton import MODEL
from trainyard.converter.ports import ExportFault
from trainyard.converter.serving.configuration import FILE, Configuration
from trainyard.converter.serving.models import Compute


def compute(config: Configuration, version: int, folder: Path) -> Compute:
    """Raises InvalidInput for a model that cannot be run, and for a configuration that names other tensors than it has."""
    file = folder / str(version) / config.file
    try:
        runtime = Runtime(file / MODEL if file.is_dir() else file)
    except ExportFault as error:
        raise InvalidInput.one(str(error)) from error
    for noun, said, there in (("input", config.inputs, runtime.inputs), ("output", config.outputs, runtime.outputs)):
        if sorted(said) != sorted(there):
            raise InvalidInput.one(
                f"{FILE} has the {noun}s {', '.join(said) or 'none'}, the model has {', '.join(there)}"
            )
    return runtime.run
