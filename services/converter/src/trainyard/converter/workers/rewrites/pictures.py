"""What is done to a picture before the model sees it, as the first nodes of the model: it is sent as a camera gives it.

An input keeps its name and takes uint8 [batch, height, width, 3]. Resizing is two products with the weights of a triangle, as
Pillow's bilinear filter has them: onnxruntime's own Resize differs from it by several levels at the edges.
"""

import numpy
import onnx
from onnx import helper

from trainyard.converter.workers.rewrites.nodes import before

PILLOW_BITS = 22
"""Of a weight, behind the point: Pillow resamples in whole numbers. Doubles hold what they give without a rounding, so that
every level is the same. Source: PRECISION_BITS of its Resample.c."""


def prepare(graph, block):
    value = next(value for value in graph.input if value.name == block["input"])
    kind = value.type.tensor_type.elem_type
    before(graph, block["input"], lambda nodes, ready: chain(nodes, block, kind, ready))
    value.CopyFrom(helper.make_tensor_value_info(block["input"], onnx.TensorProto.UINT8, sides(block, value)))


def chain(nodes, block, kind, ready):
    """From what is sent, [batch, height, width, 3], to what the model takes."""
    first = onnx.TensorProto.DOUBLE if block["resize"] else onnx.TensorProto.FLOAT
    at = nodes.node("Transpose", nodes.node("Cast", block["input"], to=first), perm=[0, 3, 1, 2])
    if block["resize"]:
        height, width = block["resize"]
        at = rounded(nodes, nodes.node("MatMul", at, weights(nodes, at, 3, width, turned=True)))
        at = rounded(nodes, nodes.node("MatMul", weights(nodes, at, 2, height, turned=False), at))
        at = nodes.node("Cast", at, to=onnx.TensorProto.FLOAT)
    if block["crop"]:
        at = cropped(nodes, at, block["crop"])
    if block["channels"] == "BGR":
        at = nodes.node("Gather", at, nodes.constant("swap", numpy.int64([2, 1, 0])), axis=1)
    for operator, word in (("Mul", "scale"), ("Sub", "mean"), ("Div", "std")):
        numbers = numpy.broadcast_to(numpy.float32(block[word]), (3,)).reshape(3, 1, 1)
        at = nodes.node(operator, at, nodes.constant(word, numbers.copy()))
    if block["layout"] == "NHWC":
        at = nodes.node("Transpose", at, perm=[0, 2, 3, 1])
    nodes.node("Cast", at, to=kind, output=ready)


def weights(nodes, at, axis, size, turned):
    """[size, have], or turned around: what each pixel that there is counts for each that is wanted."""
    double = numpy.float64
    zero, half, one = (
        nodes.constant(word, double(number)) for word, number in (("zero", 0), ("half", 0.5), ("one", 1))
    )
    wanted = nodes.constant("size", double(size))
    shape = nodes.node("Shape", at)
    have = nodes.node(
        "Cast", nodes.node("Gather", shape, nodes.constant("axis", numpy.int64(axis))), to=onnx.TensorProto.DOUBLE
    )
    ratio = nodes.node("Div", have, wanted)
    support = nodes.node("Max", ratio, one)
    centres = nodes.node("Mul", nodes.node("Add", nodes.node("Range", zero, wanted, one), half), ratio)
    column = nodes.node("Reshape", centres, nodes.constant("column", numpy.int64([-1, 1])))
    pixels = nodes.node("Add", nodes.node("Range", zero, have, one), half)
    share = nodes.node("Div", nodes.node("Abs", nodes.node("Sub", column, pixels)), support)
    triangle = nodes.node("Max", nodes.node("Sub", one, share), zero)
    ones = nodes.node(
        "Reshape",
        nodes.node("Sub", nodes.node("Add", pixels, one), pixels),
        nodes.constant("ones", numpy.int64([-1, 1])),
    )
    filled = nodes.node("Div", triangle, nodes.node("MatMul", triangle, ones))
    bits = nodes.constant("bits", double(2**PILLOW_BITS))
    found = nodes.node("Div", nodes.node("Floor", nodes.node("Add", nodes.node("Mul", filled, bits), half)), bits)
    return nodes.node("Transpose", found, perm=[1, 0]) if turned else found


def rounded(nodes, at):
    """To the levels of a picture, as Pillow does after each of the two ways."""
    half = nodes.constant("half", numpy.float64(0.5))
    whole = nodes.node("Floor", nodes.node("Add", at, half))
    low, high = (nodes.constant(word, numpy.float64(number)) for word, number in (("low", 0), ("high", 255)))
    return nodes.node("Clip", whole, low, high)


def cropped(nodes, at, crop):
    """The middle."""
    begin = nodes.constant("from", numpy.int64([2]))
    shape = nodes.node("Slice", nodes.node("Shape", at), begin, nodes.constant("to", numpy.int64([4])))
    wanted = nodes.constant("crop", numpy.int64(crop))
    start = nodes.node("Div", nodes.node("Sub", shape, wanted), nodes.constant("two", numpy.int64(2)))
    axes = nodes.constant("axes", numpy.int64([2, 3]))
    return nodes.node("Slice", at, start, nodes.node("Add", start, wanted), axes)


def sides(block, value):
    """Of what is sent: any size where it is resized or cut, else the model's own."""
    dims = [dim.dim_value or dim.dim_param or None for dim in value.type.tensor_type.shape.dim]
    height, width = dims[2:] if block["layout"] == "NCHW" else dims[1:3]
    free = block["resize"] or block["crop"]
    name = block["input"]
    return [dims[0], f"{name}_height" if free else height, f"{name}_width" if free else width, 3]
