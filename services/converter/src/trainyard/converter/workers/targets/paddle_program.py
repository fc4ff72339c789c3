"""A Paddle inference model: model.json and model.pdiparams, by X2Paddle. It writes code of Paddle with numbered names; what
is saved is the layer of that code, whose inputs bear the names of the ONNX model.
"""

import contextlib
import importlib.util
import io
import os
import re
import sys
import tempfile
import types

import onnx
import paddle
from onnx import numpy_helper

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault, gist
from trainyard.converter.workers.graphs import rename
from trainyard.converter.workers.targets.older_set import brought
from trainyard.converter.workers.targets.reshaped import reshaped

NAME = "model"
NAMED = re.compile(r"\w+Error: \S")
DROPPED = "onnx.mapping"
"""X2Paddle takes a table from it that ONNX has had as functions since 1.18."""


def write(request, folder):
    paddle.set_device("cpu")
    with tempfile.TemporaryDirectory() as between:
        layer = layer_of(request, between)
        layer.eval()
        spec = [
            paddle.static.InputSpec(
                [dim if dim != "batch" and dim >= 0 else None for dim in item["shape"]], item["dtype"], item["name"]
            )
            for item in request["inputs"]
        ]
        try:
            paddle.jit.save(layer, os.path.join(folder, NAME), input_spec=spec)
        except Exception as error:  # whatever a traced operator raises
            raise Fault("export", f"Paddle does not save it: {reason(error)}")


def layer_of(request, between):
    """The layer of the code that X2Paddle writes. It takes and gives tensors in the order of the ONNX model."""
    takes, gives = (letters("in", request["inputs"]), letters("out", request["outputs"]))
    translate, known = x2paddle()
    model = brought(reshaped(onnx.load(request["onnx"])), known)
    unknown = sorted({node.op_type for node in model.graph.node} - known)
    if unknown:
        raise Fault("export", f"X2Paddle does not know the operator {', '.join(unknown)}")
    plain(model)
    rename(model, takes, gives)
    path, made = os.path.join(between, "model.onnx"), os.path.join(between, "made")
    os.mkdir(made)
    onnx_file.save(model, path)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            translate(path, made)
    except (Exception, SystemExit) as error:  # its own have no common class but Exception
        cause = f" ({gist(error.__context__)})" if error.__context__ else ""
        raise Fault("export", f"X2Paddle does not write it: {gist(error)}{cause}")
    return loaded(made)


def letters(word, items):
    return [f"{word}_{at}" for at in range(len(items))]


def loaded(made):
    spec = importlib.util.spec_from_file_location("x2paddle_code", os.path.join(made, "x2paddle_code.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    layer = module.ONNXModel()
    layer.set_dict(paddle.load(os.path.join(made, "model.pdparams")))
    return layer


def x2paddle():
    """What writes the code, and names of the operators that it has. Its parts are called one by one: its own entry looks for
    a version that ONNX no longer tells there, and reports to its makers."""
    table = types.ModuleType(DROPPED)
    table.TENSOR_TYPE_TO_NP_TYPE = {
        kind: onnx.helper.tensor_dtype_to_np_dtype(kind) for kind in onnx.helper.get_all_tensor_dtypes()
    }
    sys.modules.setdefault(DROPPED, table)
    from x2paddle.decoder.onnx_decoder import ONNXDecoder
    from x2paddle.op_mapper.onnx2paddle.onnx_op_mapper import ONNXOpMapper
    from x2paddle.op_mapper.onnx2paddle.opset15 import OpSet15
    from x2paddle.optimizer.optimizer import GraphOptimizer

    def translate(path, made):
        graph = ONNXOpMapper(ONNXDecoder(path, enable_onnx_checker=True)).paddle_graph
        graph.build()
        GraphOptimizer(source_frame="onnx").optimize(graph)
        graph.gen_code(made)
        graph.dump_parameter(made)

    operators = OpSet15(types.SimpleNamespace(graph=None), None)
    named = {name for name in dir(operators) if name[0].isupper()}
    return translate, {*named, *operators.directly_map_ops, *operators.elementwise_ops}


def plain(model):
    """What X2Paddle reads in one way alone: no dilations of one at a pooling, the size of every kernel, numbers as bytes."""
    sizes = {tensor.name: list(tensor.dims)[2:] for tensor in model.graph.initializer}
    for node in model.graph.node:
        told = {item.name: item for item in node.attribute}
        for item in told.values():
            if item.HasField("t") and not item.t.HasField("raw_data"):
                item.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(item.t), item.t.name))
        if node.op_type in ("MaxPool", "AveragePool") and "dilations" in told and set(told["dilations"].ints) == {1}:
            node.attribute.remove(told["dilations"])
        if node.op_type in ("Conv", "ConvTranspose") and "kernel_shape" not in told and node.input[1] in sizes:
            node.attribute.append(onnx.helper.make_attribute("kernel_shape", sizes[node.input[1]]))


def reason(error):
    """Of Paddle's, the line that names it: before and behind it is where in Paddle and in the code it was."""
    lines = [line.strip() for line in str(error).splitlines() if NAMED.search(line)]
    return lines[-1][:300] if lines else gist(error)


def load(request, folder):
    del request
    return Program(paddle.jit.load(os.path.join(folder, NAME)))


class Program:
    def __init__(self, layer):
        layer.eval()
        self.framework = f"paddle {paddle.__version__}"
        self.layer = layer

    def compute(self, inputs):
        try:
            with paddle.no_grad():
                found = self.layer(*map(paddle.to_tensor, inputs))
        except Exception as error:
            raise ValueError(reason(error))
        return [value.numpy() for value in (found if isinstance(found, (list, tuple)) else [found])]
