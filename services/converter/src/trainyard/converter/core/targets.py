"""What a model can become beside ONNX and a Triton repository, and what writes it. Pure.

Each is written from the ONNX model whose numbers agree, by a worker in an environment of its own, read back from its files
and held to the numbers of the framework that the model came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainyard.common.contract.conversions import Target
from trainyard.converter.core.formats import OWN


@dataclass(frozen=True, slots=True)
class Writer:
    words: str
    worker: str
    """Module of `trainyard.converter.workers`."""
    environment: str
    """Folder of `deploy/converters`, or OWN."""


WRITERS: dict[Target, Writer] = {
    "torch": Writer("a PyTorch module", "targets.torch_module", "torch"),
    "torchscript": Writer("TorchScript", "targets.torchscript", "torch"),
    "openvino": Writer("OpenVINO IR", "targets.openvino_ir", "openvino"),
    "saved-model": Writer("a SavedModel", "targets.tensorflow_files", "onnx2tf"),
    "tflite": Writer("TFLite", "targets.tensorflow_files", "onnx2tf"),
    "paddle": Writer("a Paddle inference model", "targets.paddle_program", "x2paddle"),
    "tensorrt": Writer("a TensorRT engine", "targets.tensorrt_plan", OWN),
}
