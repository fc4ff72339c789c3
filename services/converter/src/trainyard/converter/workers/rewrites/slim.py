"""onnxslim: constants folded, what is there twice or for nothing taken out."""

import os

import onnx
import onnxslim

from trainyard.converter.workers import onnx_file


def answer(request, cases, folder):
    del cases
    # Its own check would run the model on inputs of its own making; ours compares afterwards.
    slimmed = onnxslim.slim(onnx.load(request["onnx"]), model_check=False)
    onnx_file.save(slimmed, os.path.join(folder, "model.onnx"), request["limits"]["inline"])
    return {"framework": f"onnxslim {onnxslim.__version__}"}
