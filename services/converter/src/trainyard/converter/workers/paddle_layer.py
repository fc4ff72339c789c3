"""PaddlePaddle: the code of a layer and its weights, as paddle.save writes a state dict (`.pdparams`).

What is converted is the program that paddle.jit.save makes of the layer, so there are three to compare: the layer, that
program, and the ONNX model. Where the first two differ it is said before anything is ONNX.
"""

import os
import pickle

import numpy

from trainyard.converter.workers import paddle_model
from trainyard.converter.workers.frame import Fault, first_line, made, sentence, where

ARRAYS = {
    ("numpy", "ndarray"), ("numpy", "dtype"), ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"), ("collections", "OrderedDict"), ("_codecs", "encode"),
}  # fmt: skip
"""What a pickle of arrays by name calls for; paddle.load would call whatever is named."""
KEPT = 4
"""Inputs that the program is tried on."""
RELATIVE, ABSOLUTE = 1e-2, 1e-3
"""Of the largest number of an output: what differs by more is another model, not rounding. The gate is held later."""


def load(request):
    return Layer(request)


class Layer(paddle_model.Running):
    inputs = None

    def __init__(self, request):
        import paddle

        paddle.set_device("cpu")
        paddle.seed(0)
        layer = made(request)
        if not isinstance(layer, paddle.nn.Layer):
            raise Fault("model", f"{request['model']} gave a {type(layer).__name__}, a paddle.nn.Layer is needed")
        fill(layer, weights(request["weights"]))
        layer.eval()
        super().__init__(request, layer)
        self.tried = {}

    def compute(self, inputs, case):
        found = super().compute(inputs, case)
        if len(self.tried) < KEPT:
            self.tried[case] = inputs
        return found

    def export(self, rung, references, path):
        import paddle

        prefix = os.path.join(os.path.dirname(path), "program")
        specs = [
            paddle.static.InputSpec(
                [None if dim == "batch" else dim for dim in spec["shape"]], spec["dtype"], spec["name"]
            )
            for spec in self.request["inputs"]
        ]
        try:
            paddle.jit.save(self.layer, prefix, input_spec=specs)
            program = paddle_model.Running(self.request, paddle.jit.load(prefix))
        except Exception as error:
            raise Fault("export", f"paddle.jit.save refuses it: {sentence(error)}{where(error, self.request)}")
        for case, inputs in self.tried.items():
            same(references[case], program.compute(inputs, case), case)
        paddle_model.export(self.request, prefix + ".json", rung, references, path)


def same(reference, found, case):
    for name, right in reference.items():
        value = found[name]
        if value.shape != right.shape:
            far = f"has the shape {list(value.shape)} for {list(right.shape)}"
        else:
            off = numpy.abs(value.astype("f8") - right.astype("f8"))
            off = off[numpy.isfinite(off)].max(initial=0.0)
            if off <= ABSOLUTE + RELATIVE * numpy.abs(right[numpy.isfinite(right)]).max(initial=0.0):
                continue
            far = f"differs by {off:.3g}"
        words = f"the program that paddle.jit.save makes is another model: its output {name!r} {far} ({case})"
        raise Fault("model", f"{words}; look for in_dynamic_mode(), and for numbers that Python keeps, in its code")


def fill(layer, state):
    own = {name: list(value.shape) for name, value in layer.state_dict().items()}
    missing, unknown = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
    wrong = [name for name in own.keys() & state.keys() if list(numpy.shape(state[name])) != own[name]]
    if missing or unknown or wrong:
        words = [
            f"{len(names)} {what} ({names[0][:100]})"
            for what, names in (("missing", missing), ("unknown", unknown), ("of another shape", sorted(wrong)))
            if names
        ]
        raise Fault("model", f"the weights do not fit the model: {', '.join(words)}")
    layer.set_state_dict(state)


def weights(path):
    """Arrays by name. Nothing but arrays is unpickled, so that reading them needs no trust."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            state = Arrays(file).load()
    except (MemoryError, OSError, Fault):
        raise
    except Exception as error:  # of pickle and numpy
        raise Fault("model", f"{name} cannot be read as Paddle weights: {first_line(error)}")
    if isinstance(state, dict):  # names of parameters in a program, which a layer has no use for
        state.pop("StructuredToParameterName@@", None)
    if not isinstance(state, dict) or not all(
        isinstance(key, str) and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc"
        for key, value in state.items()
    ):
        raise Fault("model", f"{name} holds no state dict: paddle.save(layer.state_dict(), …) writes one")
    return state


class Arrays(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in ARRAYS:
            words = f"the weights hold Python objects ({module}.{name}), not only arrays"
            raise Fault("model", f"{words}: save layer.state_dict()")
        return super().find_class(module, name)
