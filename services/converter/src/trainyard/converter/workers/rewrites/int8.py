"""Weights, and where ranges were measured also what flows between the nodes, as whole numbers of eight bits."""

import os

import onnx
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault
from trainyard.converter.workers.graphs import nodes_of

QUANTISED = ("QuantizeLinear", "DynamicQuantizeLinear", "DequantizeLinear")


class Rows(CalibrationDataReader):
    def __init__(self, cases, names):
        self.rows = iter([{name: inputs[name] for name in names} for inputs in cases.values()])

    def get_next(self):
        return next(self.rows, None)


def answer(request, cases, folder):
    named, path = os.path.join(folder, "named.onnx"), os.path.join(folder, "model.onnx")
    model = onnx.load(request["onnx"])
    kept = nodes_of(model.graph, request["keep"])
    inline = request["limits"]["inline"]
    onnx_file.save(model, named, inline)
    options = {
        "per_channel": True,
        "weight_type": QuantType.QInt8,
        "nodes_to_exclude": kept,
        "use_external_data_format": os.path.exists(named + onnx_file.DATA),
    }
    if request["calibrated"]:
        constants = {item.name for item in model.graph.initializer}
        rows = Rows(cases, [item.name for item in model.graph.input if item.name not in constants])
        options.update(quant_format=QuantFormat.QDQ, activation_type=QuantType.QInt8)
        quantize_static(named, path, rows, **options)
    else:
        quantize_dynamic(named, path, **options)
    onnx_file.settle(path, inline)
    operators = {node.op_type for node in onnx.load(path, load_external_data=False).graph.node}
    if not operators & set(QUANTISED) and not any(name.startswith("DynamicQuantize") for name in operators):
        raise Fault("export", "nothing in it can be computed in int8")
    return {"framework": f"onnxruntime {onnxruntime.__version__}"}
