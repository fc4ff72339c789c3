"""Stands where NVIDIA's trtexec would: the same options, the same files, but onnxruntime computes. An engine is the ONNX
model with the bounds it was built for; sizes beyond them are refused, as an engine refuses them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import onnxruntime

NAMES = {"float32": "fp32", "float64": "fp64", "int64": "int64", "bool": "bool"}
OPTIONS = dict(argument.lstrip("-").partition("=")[::2] for argument in sys.argv[1:])


def shapes(text: str) -> dict[str, list[int]]:
    items = re.findall(r"('[^']*'|[^,:]+):([0-9x]+|scalar)", text)
    return {name.strip("'"): [int(size) for size in dims.split("x") if size != "scalar"] for name, dims in items}


def failed(words: str) -> None:
    sys.stdout.write(f"[12/03/2026-10:00:00] [E] {words}\n&&&& FAILED TensorRT.trtexec [TensorRT v101300] [b35]\n")
    sys.exit(1)


def build() -> None:
    model = Path(OPTIONS["onnx"]).read_bytes()
    if b"Strange" in model:
        failed("Static dimension mismatch in Strange")
    bounds = {name: shapes(OPTIONS.get(f"{name}Shapes", "")) for name in ("min", "opt", "max")}
    Path(OPTIONS["saveEngine"]).write_bytes(json.dumps(bounds).encode() + b"\n" + model)


def infer() -> None:
    if "timeDeserialize" in OPTIONS:
        failed("[I] First deserialization time = 12.34 milliseconds")
    head, _, model = Path(OPTIONS["loadEngine"]).read_bytes().partition(b"\n")
    bounds = json.loads(head)
    session = onnxruntime.InferenceSession(model)
    given = shapes(OPTIONS.get("shapes", ""))
    for name, sizes in given.items():
        limits = zip(bounds["min"][name], sizes, bounds["max"][name], strict=True)
        if not all(low <= size <= high for low, size, high in limits):
            failed(f"Set dimension of tensor {name} does not satisfy any optimization profiles")
    kinds = {"tensor(float)": np.float32, "tensor(int64)": np.int64}
    files = re.findall(r"('[^']*'|[^,:]+):([^,]+)", OPTIONS["loadInputs"])
    places = {name.strip("'"): file for name, file in files}
    inputs = {
        item.name: np.fromfile(places[item.name], kinds[item.type]).reshape(given.get(item.name, item.shape))
        for item in session.get_inputs()
    }
    for item, value in zip(session.get_outputs(), session.run(None, inputs), strict=True):
        dims = ".".join(map(str, value.shape))
        file = re.sub(r"[^A-Za-z0-9._,-]", "_", f"{item.name}.output.{dims}.{NAMES[str(value.dtype)]}.raw")
        value.tofile(file)


sys.stdout.write("[12/03/2026-10:00:00] [I] TensorRT version: 10.13.0\n")
build() if "onnx" in OPTIONS else infer()
sys.stdout.write("&&&& PASSED TensorRT.trtexec [TensorRT v101300] [b35]\n")
