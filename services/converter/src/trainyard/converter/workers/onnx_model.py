"""A model that is ONNX already: what it computes before anything optimises it, and a copy."""

import os

import numpy
import onnx
import onnxruntime

from trainyard.converter.workers.frame import Fault, first_line

_KINDS = {
    "tensor(double)": "float64", "tensor(float)": "float32", "tensor(float16)": "float16", "tensor(bfloat16)": "bfloat16",
    "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(int16)": "int16", "tensor(int8)": "int8",
    "tensor(uint8)": "uint8", "tensor(bool)": "bool",
}  # fmt: skip


def load(request):
    return Model(request)


class Model:
    def __init__(self, request):
        path = request["weights"]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            self.proto = onnx.load(path)
        except Exception as error:  # they have no common class but Exception
            raise Fault("model", f"{os.path.basename(path)} cannot be read as ONNX: {first_line(error)}")
        self.framework = f"onnxruntime {onnxruntime.__version__}, without optimisation"
        self.parameters = sum(int(numpy.prod(tensor.dims)) for tensor in self.proto.graph.initializer)
        self.inputs, self.outputs = (
            [tensor(value) for value in values] for values in (self.session.get_inputs(), self.session.get_outputs())
        )

    def compute(self, inputs, case):
        names = [value["name"] for value in self.outputs]
        try:
            found = self.session.run(names, inputs)
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {first_line(error)}")
        for name, value in zip(names, found):
            if not isinstance(value, numpy.ndarray):
                raise Fault("model", f"output {name!r} is a {type(value).__name__}, which is no tensor")
        return dict(zip(names, found))

    def export(self, rung, references, path):
        del rung, references
        onnx.save(self.proto, path)


def tensor(value):
    shape = [dim if isinstance(dim, int) and dim >= 0 else -1 for dim in value.shape]
    return {"name": value.name, "dtype": _KINDS.get(value.type, value.type), "shape": shape}
