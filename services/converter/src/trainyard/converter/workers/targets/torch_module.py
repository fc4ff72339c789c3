"""A PyTorch module to read and to train: model.py, operators.py, model.safetensors."""

import importlib.util
import os
import sys

import onnx
import torch

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.onnx_to_torch.emit import Refused
from trainyard.converter.workers.onnx_to_torch.write import write as write_module


def write(request, folder):
    try:
        write_module(onnx.load(request["onnx"]), folder, through=onnx_file.without_weights)
    except Refused as error:
        raise Fault("export", str(error))


def load(request, folder):
    del request
    return Module(module_in(folder))


def module_in(folder):
    """Imported from its files, with the operators that lie beside it."""
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.spec_from_file_location("model", os.path.join(folder, "model.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.load()
    finally:
        sys.path.remove(folder)


class Module:
    """`module`: tensors → a tuple."""

    def __init__(self, module):
        self.framework = f"torch {torch.__version__}"
        self.module = module

    def compute(self, inputs):
        with torch.inference_mode():
            found = self.module(*map(torch.from_numpy, inputs))
        return [value.numpy() for value in found]
