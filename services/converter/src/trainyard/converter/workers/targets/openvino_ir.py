"""OpenVINO's own format: model.xml and model.bin, with the precision that the model has."""

import os

import openvino

from trainyard.converter.workers.frame import Fault, gist


def write(request, folder):
    try:
        model = openvino.convert_model(request["onnx"])
    except Exception as error:  # they have no common class but Exception
        raise Fault("export", f"OpenVINO does not take it: {gist(error)}")
    openvino.save_model(model, os.path.join(folder, "model.xml"), compress_to_fp16=False)


def load(request, folder):
    return Model(os.path.join(folder, "model.xml"), [item["name"] for item in request["outputs"]])


class Model:
    def __init__(self, path, outputs):
        # Some processors compute float32 in bfloat16 unless they are told not to.
        options = {"INFERENCE_PRECISION_HINT": "f32"}
        self.framework = f"openvino {openvino.__version__.partition('-')[0]}"
        self.model = openvino.Core().compile_model(path, "CPU", options)
        self.outputs = outputs

    def compute(self, inputs):
        found = self.model(inputs)
        return [found[name] for name in self.outputs]
