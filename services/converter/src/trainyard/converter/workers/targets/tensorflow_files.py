"""SavedModel and TFLite, by onnx2tf. Inputs and outputs bear the names of the ONNX model and keep its layout: what was NCHW
stays so, and what needs another layout is turned inside."""

import logging
import os
import re
import tempfile

import numpy
import onnx
import onnx2tf
import onnxruntime
import tensorflow as tf

from trainyard.converter.workers import onnx_file
from trainyard.converter.workers.frame import Fault, example_of, gist
from trainyard.converter.workers.graphs import rename
from trainyard.converter.workers.targets.reshaped import normalised, reshaped

TFLITE = "model.tflite"
NAMED = re.compile(r"\W")


def write(request, folder):
    with tempfile.TemporaryDirectory() as between:
        model, plain = in_tensorflow(request, between)
        inner = model.signatures["serving_default"]
        module = signed(inner, orders(inner, plain, request), request)
        module.owner = model  # of the variables of `inner`
        if request["target"] == "saved-model":
            tf.saved_model.save(module, folder, signatures=module.forward)
            return
        tf.saved_model.save(module, os.path.join(between, "signed"), signatures=module.forward)
        writer = tf.lite.TFLiteConverter.from_saved_model(os.path.join(between, "signed"))
        try:
            written = writer.convert()
        except Exception as error:  # they have no common class but Exception
            raise Fault("export", f"TFLite does not take it: {gist(error)}")
        with open(os.path.join(folder, TFLITE), "wb") as file:
            file.write(written)


def in_tensorflow(request, between):
    """The SavedModel that onnx2tf makes of it, and the ONNX file that it was made from."""
    model = onnx.load(request["onnx"])
    takes, gives = (letters("in", request["inputs"]), letters("out", request["outputs"]))
    rename(model, takes, gives)  # names that no converter stumbles over
    plain, made = os.path.join(between, "model.onnx"), os.path.join(between, "made")
    onnx_file.save(normalised(reshaped(model)), plain)
    logging.disable(logging.WARNING)
    try:
        onnx2tf.convert(
            plain,
            output_folder_path=made,
            keep_shape_absolutely_input_names=takes,
            output_signaturedefs=True,
            verbosity="error",
        )
    except ModuleNotFoundError as error:  # its operators are modules
        if not (error.name or "").startswith("onnx2tf.ops."):
            raise
        raise Fault("export", f"onnx2tf does not know the operator {error.name.rpartition('.')[2]}")
    except (Exception, SystemExit) as error:  # it ends the process where an operator is not known to it
        raise Fault("export", f"onnx2tf does not write it: {gist(error)}")
    made = tf.saved_model.load(made)
    wrote = len(made.signatures["serving_default"].structured_outputs)
    if wrote != len(gives):
        raise Fault("export", f"onnx2tf wrote {wrote} outputs of {len(gives)}")
    return made, plain


def letters(word, items):
    return [f"{word}_{index}" for index in range(len(items))]


def orders(inner, plain, request):
    """For each output the axes that turn it back into the order of the ONNX model, or None. Told by the numbers of one
    example: shapes alone do not tell where sizes are equal."""
    random = numpy.random.default_rng(0)
    inputs = {
        name: random.random(example.shape).astype(example.dtype) if example.dtype.kind == "f" else example
        for name, example in zip(letters("in", request["inputs"]), map(example_of, request["inputs"]))
    }
    session = onnxruntime.InferenceSession(plain, providers=["CPUExecutionProvider"])
    wanted = session.run(letters("out", request["outputs"]), inputs)
    found = called(inner, [tf.constant(value) for value in inputs.values()])
    return [turn(value.numpy(), reference) for value, reference in zip(found, wanted)]


def turn(value, reference):
    rank = reference.ndim
    if rank < 3 or value.ndim != rank:
        return None
    back = (0, rank - 1, *range(1, rank - 1))
    turned = numpy.transpose(value, back)
    if turned.shape != reference.shape:
        return None
    if value.shape != reference.shape:
        return back
    straight, other = (numpy.abs(item.astype("f8") - reference).sum() for item in (value, turned))
    return back if other < straight else None


def called(inner, tensors):
    """In the order of the outputs, which the signature names output_0, output_1 …"""
    found = inner(**dict(zip(letters("in", tensors), tensors)))
    return [found[name] for name in letters("output", found)]


def signed(inner, turns, request):
    names = [item["name"] for item in request["outputs"]]
    specs = [
        tf.TensorSpec(
            [dim if dim != "batch" and dim >= 0 else None for dim in item["shape"]], item["dtype"], item["name"]
        )
        for item in request["inputs"]
    ]

    def forward(*tensors):
        found = called(inner, tensors)
        return {
            name: value if axes is None else tf.transpose(value, axes) for name, value, axes in zip(names, found, turns)
        }

    module = tf.Module()
    module.forward = tf.function(forward, input_signature=specs)
    return module


def load(request, folder):
    inputs, outputs = ([item["name"] for item in request[side]] for side in ("inputs", "outputs"))
    version = f"tensorflow {tf.__version__}"
    if request["target"] == "tflite":
        runner = tf.lite.Interpreter(os.path.join(folder, TFLITE)).get_signature_runner()
        return Signed(f"{version}, TFLite", runner, inputs, outputs)
    model = tf.saved_model.load(folder)
    # Arguments of a signature are Python's names.
    return Signed(
        version, model.signatures["serving_default"], [NAMED.sub("_", name) for name in inputs], outputs, model
    )


class Signed:
    def __init__(self, framework, call, inputs, outputs, keep=None):
        """`keep`: what owns the variables of `call`."""
        self.framework = framework
        self.call = call
        self.inputs = inputs
        self.outputs = outputs
        self.keep = keep

    def compute(self, inputs):
        found = self.call(**{name: tf.constant(value) for name, value in zip(self.inputs, inputs)})
        return [numpy.asarray(found[name]) for name in self.outputs]
