"""A function of TensorFlow as ONNX, by tf2onnx, and what that lacks."""

import contextlib
import warnings

import numpy
import tensorflow as tf

from trainyard.converter.workers.graphs import hold


def model_of(call, signature, opset):
    """`call`: list of tensors → list of tensors; `signature`: what goes in. Inputs and outputs bear no names that count."""
    import tf2onnx

    function = tf.function(lambda *tensors: call(list(tensors)), input_signature=signature)
    with warnings.catch_warnings(), inlined():
        warnings.simplefilter("ignore")
        traced = function.get_concrete_function(*signature)
        model, _ = tf2onnx.convert.from_function(
            function, signature, opset=opset, custom_op_handlers={"Erfc": (erfc, [])}
        )
    hold(model, captured(traced))
    return model


@contextlib.contextmanager
def inlined():
    """Functions that are traced meanwhile are not compiled by XLA: such ones stay calls, which ONNX does not have. Keras
    writes its grouped convolutions that way, because TensorFlow cannot run them on a CPU otherwise; ONNX's runtime can."""
    original = tf.function

    def plain(*given, jit_compile=None, **options):
        del jit_compile
        return original(*given, **options)

    tf.function = plain
    try:
        yield
    finally:
        tf.function = original


def captured(function):
    """Name → array of what a function has taken from around it and is no variable: tf2onnx makes inputs of these."""
    return {
        inner.name: outer.numpy()
        for outer, inner in function.graph.captures
        if outer.dtype not in (tf.resource, tf.variant)
    }


def erfc(graph, node, name, args):
    """As 1 − erf: tf2onnx knows Erf alone, and Keras' exact GELU is written with this one."""
    from tf2onnx.utils import make_name, map_onnx_to_numpy_type

    given, output, shapes, dtypes = node.input[0], node.output[0], node.output_shapes, node.output_dtypes
    one = graph.make_const(make_name("one"), numpy.array(1, map_onnx_to_numpy_type(graph.get_dtype(given))))
    graph.remove_node(node.name)
    erf = graph.make_node("Erf", [given])
    graph.make_node("Sub", [one.output[0], erf.output[0]], outputs=[output], shapes=shapes, dtypes=dtypes)
