"""A model that is ONNX already: what it computes before anything optimises it, and a copy."""

import os
import stat

import numpy
import onnx
import onnxruntime
from onnx.external_data_helper import load_external_data_for_model

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.graphs import graphs
from trainyard.converter.workers.runtime_errors import told

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
        folder = os.path.dirname(os.path.abspath(path))
        try:
            self.proto = onnx.load(path, load_external_data=False)
            confine(self.proto, folder)
            known(self.proto, os.path.basename(path))
            for graph in graphs(self.proto.graph):
                evaluating(graph)
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            load_external_data_for_model(self.proto, folder)
        except Fault:
            raise
        except Exception as error:  # they have no common class but Exception
            raise Fault("model", f"{os.path.basename(path)} cannot be read as ONNX: {told(error)}")
        self.framework = f"onnxruntime {onnxruntime.__version__}, without optimisation"
        self.parameters = sum(int(numpy.prod(tensor.dims)) for tensor in self.proto.graph.initializer)
        names = ("license", "licence")
        said = (item.value for item in self.proto.metadata_props if item.key.lower() in names)
        self.licence = next(said, "")[:1000]
        self.inputs, self.outputs = (
            [tensor(value) for value in values] for values in (self.session.get_inputs(), self.session.get_outputs())
        )

    def compute(self, inputs, case):
        names = [value["name"] for value in self.outputs]
        try:
            found = self.session.run(names, inputs)
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {told(error)}")
        for name, value in zip(names, found):
            if not isinstance(value, numpy.ndarray):
                raise Fault("model", f"output {name!r} is a {type(value).__name__}, which is no tensor")
        return dict(zip(names, found))

    def export(self, rung, references, path):
        del rung, references
        onnx_file.save(self.proto, path)


def known(proto, name):
    """Refuses operator sets that nothing here has heard of, in better words than the runtime's."""
    newest = onnx.defs.onnx_opset_version()
    for item in proto.opset_import:
        if item.domain in ("", "ai.onnx") and item.version > newest:
            words = f"{name} is written in opset {item.version}, the newest known here is {newest}"
            raise Fault("model", f"{words}: export the model at an older one")


def evaluating(graph):
    """Refuses what was exported while it was trained: it uses the batch's statistics and drops numbers by chance, so that
    no two runs need agree."""
    constants = {item.name: item for item in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            constants[node.output[0]] = node.attribute[0].t
    for node in graph.node:
        training = any(item.name == "training_mode" and item.i for item in node.attribute)
        if node.op_type == "Dropout" and len(node.input) > 2 and node.input[2] in constants:
            training = bool(onnx.numpy_helper.to_array(constants[node.input[2]]))
        if training:
            place = (node.name or node.output[0])[:100]
            words = f"{node.op_type} {place!r} is in training mode: export the model in evaluation mode"
            raise Fault("model", words)


def confine(proto, folder):
    """Refuses weights beside the model that do not lie in its folder: reading them would show the model other files."""
    for item in onnx_file.outside(proto):
        entries = {entry.key: entry.value for entry in item.external_data}
        fault = outside(folder, entries)
        if fault:
            place = entries.get("location", "")
            raise Fault("model", f"the weights {item.name[:100]!r} are to be read from {place[:200]!r}, {fault}")


def outside(folder, entries):
    """What is wrong with a place of external data, in words; empty where it is a part of a file in the folder."""
    location = entries.get("location", "")
    parts = location.replace("\\", "/").split("/")
    if not location or "\0" in location or os.path.isabs(location) or ".." in parts:
        return "which is no place in the model's folder"
    path = folder
    for part in parts:
        path = os.path.join(path, part)
        try:
            found = os.lstat(path)
        except OSError:
            return "where there is no file: it belongs beside the model"
        if stat.S_ISLNK(found.st_mode):
            return "which is a link: put the file itself beside the model"
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        return "which is no file of its own: a copy beside the model is"
    return beyond(entries, found.st_size)


def beyond(entries, size):
    try:
        begin, length = int(entries.get("offset", 0)), int(entries.get("length", 0))
    except ValueError:
        return "at an offset that is no number"
    return f"beyond its end: it has {size} bytes" if min(begin, length) < 0 or begin + length > size else ""


def tensor(value):
    shape = [dim if isinstance(dim, int) and dim >= 0 else -1 for dim in value.shape]
    return {"name": value.name, "dtype": _KINDS.get(value.type, value.type), "shape": shape}
