"""TorchScript for libtorch and Triton: model.pt, traced from the module that `torch_module` writes."""

import os
import tempfile

import onnx
import torch

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault, example_of, gist
from trainyard.converter.workers.targets import torch_module
from trainyard.converter.workers.targets.reshaped import reshaped


def write(request, folder):
    with tempfile.TemporaryDirectory() as between:
        # A trace keeps the sizes of its example wherever the model computes with them.
        plain = os.path.join(between, "model.onnx")
        onnx_file.save(reshaped(onnx.load(request["onnx"])), plain)
        torch_module.write(dict(request, onnx=plain), between)
        module = torch_module.module_in(between)
        examples = tuple(torch.from_numpy(example_of(item)) for item in request["inputs"])
        try:
            traced = torch.jit.trace(module, examples, check_trace=False)
        except Exception as error:  # whatever a traced operator raises
            raise Fault("export", f"it cannot be traced: {gist(error)}")
        torch.jit.save(traced, os.path.join(folder, "model.pt"))


def load(request, folder):
    del request
    return torch_module.Module(torch.jit.load(os.path.join(folder, "model.pt"), map_location="cpu"))
