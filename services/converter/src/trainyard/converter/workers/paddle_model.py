"""PaddlePaddle: an inference model, as paddle.jit.save writes it: `.json`, or `.pdmodel` before Paddle 3, and `.pdiparams`
beside it. Which of the two is read has to be said before paddle is imported.
"""

import os
import re

import numpy

from trainyard.converter.workers.frame import Fault, first_line, flat, named, sentence, where
from trainyard.converter.workers.graphs import join_scalars, rename
from trainyard.converter.workers.json_programs import harmless

REACHING = {"load_combine", "py_func", "read_file", "run_program", "save_combine", "tensorrt_engine"}
"""Operators that reach files or code. Source: the names of operators in paddle.base.libpaddle."""
OLD_REACHING = REACHING | {"create_py_reader", "load", "openvino_engine", "pylayer", "save"}
"""Programs of Paddle 2 have these as well."""

NEW_PROGRAMS = "FLAGS_enable_pir_api"


def load(request):
    if request["weights"].endswith(".pdmodel"):
        os.environ[NEW_PROGRAMS] = "0"
    return Model(request)


class Running:
    """A layer that computes, whatever it was made from."""

    outputs = None

    def __init__(self, request, layer):
        import paddle

        self.request = request
        self.layer = layer
        self.framework = f"paddle {paddle.__version__}"
        self.parameters = int(sum(numpy.prod(parameter.shape) for parameter in layer.parameters()))

    def compute(self, inputs, case):
        import paddle

        try:
            with paddle.no_grad():
                found = flat(self.layer(*[paddle.to_tensor(inputs[spec["name"]]) for spec in self.request["inputs"]]))
        except Exception as error:
            words = f"the model fails on its declared inputs ({case}): {sentence(error)}{where(error, self.request)}"
            raise Fault("model", words)
        return {name: numpy.array(value) for name, value in named(found, self.request["output_names"]).items()}


class Model(Running):
    """An inference model."""

    def __init__(self, request):
        import paddle

        self.path = request["weights"]
        prefix = os.path.splitext(self.path)[0]
        if not os.path.exists(prefix + ".pdiparams"):
            raise Fault("model", f"there are no parameters at {prefix}.pdiparams, beside the program")
        if self.path.endswith(".pdmodel"):
            harmless_of_old(request)
        else:
            harmless(request, prefix + ".json", "#", REACHING)
        paddle.set_device("cpu")
        try:
            layer = paddle.jit.load(prefix)
            layer.eval()
            specs = layer._input_spec()  # noqa: SLF001 - nothing public tells
        except Exception as error:
            raise Fault("model", f"{os.path.basename(self.path)} cannot be read as a Paddle model: {first_line(error)}")
        super().__init__(request, layer)
        self.inputs = [described(spec) for spec in specs]

    def export(self, rung, references, path):
        export(self.request, self.path, rung, references, path)


def export(request, program, rung, references, path):
    """`program`: its file, with the parameters beside it."""
    import onnx

    from trainyard.converter.workers import onnx_file

    written(program, os.path.splitext(program)[0] + ".pdiparams", path, rung["opset"])
    model = onnx.load(path)
    join_scalars(model)
    rename(model, [spec["name"] for spec in request["inputs"]], list(next(iter(references.values()))))
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:  # p2o.DynamicDimension.0 is no name for people
            if dim.dim_param:
                dim.dim_param = re.sub(r".*DynamicDimension\.(\d+)$", r"dim_\1", dim.dim_param)
    onnx_file.save(model, path)


def harmless_of_old(request):
    """The same for a program of Paddle 2, by the reader that loads it."""
    from paddle.base import core

    name = os.path.basename(request["weights"])
    try:
        with open(request["weights"], "rb") as file:
            program = core.ProgramDesc(file.read())
        blocks = [program.block(at) for at in range(program.num_blocks())]
        found = {block.op(at).type() for block in blocks for at in range(block.op_size())}
    except Exception as error:
        raise Fault("model", f"{name} cannot be read as a Paddle model: {first_line(error)}")
    reaching = sorted(found & OLD_REACHING)
    if reaching and not request["trust"]:
        raise Fault("model", f"{name}: {reaching[0]} reaches files or code; convert.trust lets it")


def written(program, parameters, path, opset):
    """By paddle2onnx, which says in its log alone why it fails, and ends the process with that."""
    import paddle2onnx
    from paddle2onnx.utils import logging

    def failed(words, *rest):
        raise Fault("export", " ".join(str(words).split())[:500])

    logging.error = failed
    # Its optimiser would install packages by itself.
    paddle2onnx.export(program, parameters, path, opset_version=opset, auto_upgrade_opset=False, optimize_tool="None")


def described(spec):
    from paddle.base.data_feeder import convert_dtype

    dims = [-1 if dim in (None, -1) else int(dim) for dim in spec.shape]
    return {"name": spec.name, "dtype": convert_dtype(spec.dtype), "shape": dims}
