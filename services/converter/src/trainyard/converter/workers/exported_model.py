"""What an exporter wrote, under the runtime that will serve it. Runs in the converter's own interpreter and nowhere else, so
that it reads the model with the very code that reads it later."""

import dataclasses
from pathlib import Path

import numpy
import onnxruntime

from trainyard.converter.adapters.onnx_model import Runtime, fixed_batch, read
from trainyard.converter.core.ladder import Limits
from trainyard.converter.ports import ExportFault
from trainyard.converter.workers.frame import Fault


def load(request):
    return Model(request)


class Model:
    def __init__(self, request):
        try:
            self.signature = read(Path(request["onnx"]), Limits(**request["runtime"]))
            constant = fixed_batch(self.signature, set(request["batched"]))
            if constant:
                raise Fault("export", f"the batch of {', '.join(constant)} became a constant")
            self.runtime = Runtime(Path(request["onnx"]))
        except ExportFault as error:
            raise Fault("export", str(error))

    def compute(self, inputs, case):
        try:
            found = self.runtime.run(inputs)
        except ExportFault as error:
            raise Fault("export", f"{error} ({case})")
        return {name: tensor(name, value) for name, value in found.items()}

    def described(self):
        return dict(dataclasses.asdict(self.signature), framework=f"onnxruntime {onnxruntime.__version__}")


def tensor(name, value):
    """Strings come as objects, which are stored as pickles: as text they are not."""
    if value.dtype != object:
        return value
    if not all(isinstance(item, str) for item in value.flat):
        raise Fault("export", f"output {name!r} is no tensor")
    return numpy.array(value, dtype=str)
