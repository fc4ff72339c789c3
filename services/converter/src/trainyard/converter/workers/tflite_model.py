"""TFLite: what its interpreter computes, and tf2onnx. A file whose batch was fixed when it was written keeps that batch."""

import os
import warnings

import numpy
import tensorflow as tf

from trainyard.converter.workers.frame import Fault, first_line, named, sentence
from trainyard.converter.workers.graphs import rename

STATEFUL = ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")


def load(request):
    return Model(request)


class Model:
    outputs = None

    def __init__(self, request):
        self.request = request
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it will move to another package
                self.interpreter = tf.lite.Interpreter(request["weights"])
            self.interpreter.allocate_tensors()
        except (Exception, SystemExit) as error:
            name = os.path.basename(request["weights"])
            raise Fault("model", f"{name} cannot be read as TFLite: {first_line(error)}")
        stateless(self.interpreter, os.path.basename(request["weights"]))
        ins, outs = self.interpreter.get_input_details(), self.interpreter.get_output_details()
        names = self.named()
        self.inputs = [described(names.get(item["index"]) or plain(item["name"]), item) for item in ins]
        self.names = [names.get(item["index"]) or f"output_{at}" for at, item in enumerate(outs)]
        self.framework = f"tensorflow {tf.__version__}, TFLite"
        self.parameters = 0

    def named(self):
        """Index of a tensor → its name in the file's only signature."""
        signatures = self.interpreter.get_signature_list()
        if len(signatures) != 1:
            return {}
        runner = self.interpreter.get_signature_runner(next(iter(signatures)))
        both = (runner.get_input_details(), runner.get_output_details())
        return {item["index"]: name for details in both for name, item in details.items()}

    def compute(self, inputs, case):
        given = [inputs[spec["name"]] for spec in self.ordered()]
        try:
            for item, value in zip(self.interpreter.get_input_details(), given):
                self.interpreter.resize_tensor_input(item["index"], value.shape, strict=True)
            self.interpreter.allocate_tensors()
            for item, value in zip(self.interpreter.get_input_details(), given):
                self.interpreter.set_tensor(item["index"], value)
            self.interpreter.invoke()
            outs = self.interpreter.get_output_details()
            found = [numpy.array(self.interpreter.get_tensor(item["index"])) for item in outs]
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {sentence(error)}")
        return named(found, self.request["output_names"] or self.names)

    def ordered(self):
        """Inputs as requested, in the order of the file's own."""
        wanted = {spec["name"]: spec for spec in self.request["inputs"]}
        own = [item["name"] for item in self.inputs]
        if set(wanted) != set(own):
            raise Fault("model", f"convert.inputs names {', '.join(wanted)}; the model takes {', '.join(own)}")
        return [wanted[name] for name in own]

    def export(self, rung, references, path):
        import tf2onnx

        from trainyard.converter.workers import onnx_file

        model, _ = tf2onnx.convert.from_tflite(self.request["weights"], opset=rung["opset"])
        rename(model, [spec["name"] for spec in self.ordered()], list(next(iter(references.values()))))
        onnx_file.save(model, path)


def stateless(interpreter, name):
    """Refuses a net that remembers what it was asked before: its answers are no function of its inputs."""
    found = [item["op_name"] for item in interpreter._get_ops_details()]  # noqa: SLF001 - nothing public tells
    state = sorted({op for op in found if op in STATEFUL})
    if state:
        raise Fault("model", f"{name} keeps state between calls ({', '.join(state)}), which a graph of ONNX cannot")


def plain(name):
    return name.split(":")[0].replace("serving_default_", "")


def described(name, item):
    signature = item["shape_signature"] if len(item["shape_signature"]) else item["shape"]
    return {"name": name, "dtype": numpy.dtype(item["dtype"]).name, "shape": [int(dim) for dim in signature]}
