"""TorchScript for libtorch and Triton: model.pt, traced from the module that `torch_module` writes."""

import os
import tempfile

import torch

from trainyard.converter.workers.frame import Fault, example_of, sentence
from trainyard.converter.workers.targets import torch_module


def write(request, folder):
    with tempfile.TemporaryDirectory() as between:
        torch_module.write(request, between)
        module = torch_module.module_in(between)
        examples = tuple(torch.from_numpy(example_of(item)) for item in request["inputs"])
        try:
            with torch.inference_mode(False):
                traced = torch.jit.trace(module, examples, check_trace=False)
        except Exception as error:  # whatever a traced operator raises
            raise Fault("export", f"it cannot be traced: {sentence(error)}")
        torch.jit.save(traced, os.path.join(folder, "model.pt"))


def load(request, folder):
    del request
    return torch_module.Module(torch.jit.load(os.path.join(folder, "model.pt"), map_location="cpu"))
