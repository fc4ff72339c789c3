"""MXNet: a symbol (`NAME-symbol.json`) and its parameters (`NAME-0000.params`, the newest where there are several)."""

import glob
import json
import os
import re

import mxnet as mx
import mxnet.onnx
import numpy

from trainyard.converter.workers.frame import Fault, flat, named
from trainyard.converter.workers.graphs import rename
from trainyard.converter.workers.json_programs import harmless

REACHING = {"Custom", "_CustomFunction", "_NDArray", "_Native", "_cvimread", "_npi_Custom", "_npi_cvimread"}
"""Operators that call Python or an address, or read a file. Source: MXListAllOpNames."""


def load(request):
    return Model(request)


class Model:
    inputs = outputs = None

    def __init__(self, request):
        self.request = request
        self.symbol_file = request["weights"]
        found = sorted(glob.glob(glob.escape(self.symbol_file.replace("-symbol.json", "")) + "-[0-9]*.params"))
        if not found:
            raise Fault("model", f"there is no .params file beside {os.path.basename(self.symbol_file)}")
        harmless(request, self.symbol_file, "op", REACHING)
        self.symbol = read(mx.sym.load, self.symbol_file)
        stored = read(mx.nd.load, found[-1])
        self.stored = {key.split(":", 1)[-1]: value for key, value in stored.items()}
        for name in fixed_scales(self.symbol) & set(self.stored):  # the exporter would take what is stored
            self.stored[name] = mx.nd.ones(self.stored[name].shape, dtype=self.stored[name].dtype)
        self.framework = f"mxnet {mx.__version__}"
        self.parameters = int(sum(numpy.prod(value.shape) for value in self.stored.values()))
        given = [name for name in self.symbol.list_arguments() if name not in self.stored]
        self.given = [name for name in given if not name.endswith("_label")]  # a loss's, which inference has none of
        wanted = [spec["name"] for spec in request["inputs"]]
        if request["rung"] is not None and sorted(wanted) != sorted(self.given):
            raise Fault("model", f"convert.inputs names {', '.join(wanted)}; the model takes {', '.join(self.given)}")

    def compute(self, inputs, case):
        arguments = dict(
            self.stored, **{name: mx.nd.array(inputs[name], dtype=inputs[name].dtype) for name in self.given}
        )
        auxiliary = {name: self.stored[name] for name in self.symbol.list_auxiliary_states()}
        try:
            wanted = {name: arguments[name] for name in self.symbol.list_arguments() if name in arguments}
            executor = self.symbol.bind(mx.cpu(), wanted, aux_states=auxiliary, grad_req="null")
            found = [output.asnumpy() for output in flat(executor.forward(is_train=False))]
        except Exception as error:
            raise Fault("model", f"the model fails on its declared inputs ({case}): {last_line(error)}")
        return named(found, self.request["output_names"])

    def export(self, rung, references, path):
        import onnx

        from trainyard.converter.workers import onnx_file

        del rung  # it writes the set that it knows
        specs = {spec["name"]: spec for spec in self.request["inputs"]}
        free = [tuple(None if dim in ("batch", -1) else dim for dim in specs[name]["shape"]) for name in self.given]
        example = [tuple(2 if dim is None else dim for dim in shape) for shape in free]
        kinds = [numpy.dtype(specs[name]["dtype"]).type for name in self.given]
        mx.onnx.export_model(
            self.symbol,
            self.stored,
            example,
            kinds,
            path,
            dynamic=any(None in shape for shape in free),
            dynamic_input_shapes=free,
        )
        model = onnx.load(path)
        rename(model, self.given, list(next(iter(references.values()))))
        onnx_file.save(model, path)


def read(reader, file):
    try:
        return reader(file)
    except Exception as error:
        raise Fault("model", f"{os.path.basename(file)} cannot be read as MXNet: {last_line(error)}")


def last_line(error):
    """Its reason, which comes after the frames of MXNet's own code, without where in that it was."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"\[[\d:]+\] \S+:\d+: ", "", lines[-1]).removeprefix("MXNetError: ")[:300]


def fixed_scales(symbol):
    """Names of the scales that BatchNorm takes as 1, whatever is stored: `fix_gamma`, which is its default."""
    nodes = json.loads(symbol.tojson())["nodes"]
    fixed = [
        node
        for node in nodes
        if node["op"] == "BatchNorm" and node.get("attrs", {}).get("fix_gamma", "True") != "False"
    ]
    return {nodes[node["inputs"][1][0]]["name"] for node in fixed}
