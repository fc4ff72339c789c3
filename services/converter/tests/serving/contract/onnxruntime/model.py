"""A backend for Triton in Python: the ONNX model of a version under onnxruntime. Batches and names are Triton's."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import triton_python_backend_utils as backend


class TritonPythonModel:
    def initialize(self, args):
        folder = Path(args["model_repository"]) / args["model_version"]
        file = folder / "model.onnx"
        file = file / file.name if file.is_dir() else file  # with weights beside it
        self.session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        self.outputs = [item["name"] for item in json.loads(args["model_config"])["output"]]

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        given = {item.name(): _texts(item.as_numpy()) for item in request.inputs()}
        found = self.session.run(self.outputs, given)
        return backend.InferenceResponse([backend.Tensor(*pair) for pair in zip(self.outputs, map(_bytes, found))])


def _texts(array):
    return np.array([item.decode() for item in array.ravel()], object).reshape(array.shape) if array.dtype == object else array


def _bytes(array):
    return np.array([item.encode() for item in array.ravel()], object).reshape(array.shape) if array.dtype == object else array
