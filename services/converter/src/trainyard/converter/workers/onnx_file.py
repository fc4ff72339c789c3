"""An ONNX model on disk: one file, or, where protobuf would not take it, the graph in one and its weights in `<name>.data`
beside. Protobuf takes no message of 2 GiB, and neither does what ONNX itself does by way of one (inferring shapes).

Every worker that writes a model writes it by `save`; what an exporter has laid out in its own way is brought into this one by
`settle`. Who carries a model elsewhere has one more file to look for, under a name that follows from the model's.
"""

import os
from typing import Any, Iterator  # noqa: UP035 - for an image's interpreter, which may be old

import onnx
from onnx import TensorProto, numpy_helper, shape_inference
from onnx.external_data_helper import load_external_data_for_model, set_external_data

from trainyard.converter.workers.graphs import graphs

INLINE = 3 * 2**29
"""Bytes of weights that a model has in its own file at most. Below protobuf's 2 GiB, because graphs grow when they are
rewritten; PyTorch's exporter draws its line there too. Source: torch.onnx._internal.exporter, _LARGE_MODEL_THRESHOLD."""
DATA = ".data"
SMALL = 1024
"""Bytes of a tensor that stays in the graph whatever happens: shapes and axes are told by such ones."""
PAGE = 4096
"""Where a tensor begins, so that a runtime can map it. Source: onnx.proto, `external_data`."""


def save(model, path, inline=INLINE):
    """`inline`: bytes of weights from which on they go beside. The model holds its weights; afterwards it may not."""
    beside = path + DATA
    if os.path.lexists(beside):
        os.remove(beside)
    if size(model) > inline:
        lift(model)
        end = 0
        for tensor in tensors(model):
            if weight(tensor) > SMALL and not tensor.string_data:
                raw(tensor)
                begin = -(-end // PAGE) * PAGE
                set_external_data(tensor, os.path.basename(beside), begin)
                end = begin + len(tensor.raw_data)
    onnx.save(model, path)


def settle(path, inline=INLINE):
    """What an exporter wrote, as `save` would have written it."""
    model = onnx.load(path, load_external_data=False)
    places = {entry.value for item in outside(model) for entry in item.external_data if entry.key == "location"}
    if size(model) > inline or not places <= {os.path.basename(path) + DATA}:
        load_external_data_for_model(model, os.path.dirname(os.path.abspath(path)))
        save(model, path, inline)


def tensors(message: Any) -> Iterator[TensorProto]:
    """Every tensor in the model, also those of attributes, of inner graphs and of functions."""
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is None or field.message_type.GetOptions().map_entry:
            continue
        for item in [value] if hasattr(value, "ListFields") else value:
            yield from tensors(item)


def outside(model: Any) -> list[TensorProto]:
    """Tensors whose numbers lie beside the model."""
    return [item for item in tensors(model) if item.data_location == TensorProto.EXTERNAL]


def size(model):
    """Bytes of the weights that the model itself holds, about: `ByteSize` fails above 2 GiB."""
    return sum(map(weight, tensors(model)))


def weight(tensor):
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data)
    return sum(8 * len(value) for field, value in tensor.ListFields() if field.name.endswith("_data") and len(value))


def raw(tensor):
    """Its numbers as bytes: those of typed fields cannot lie outside."""
    if not tensor.HasField("raw_data"):
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))


def lift(model):
    """Large constants that are nodes become initialisers: onnxruntime reads no attribute from beside a model."""
    for graph in graphs(model.graph):
        for node in [node for node in graph.node if node.op_type == "Constant" and node.domain in ("", "ai.onnx")]:
            value = next((item.t for item in node.attribute if item.name == "value"), None)
            if value is not None and weight(value) > SMALL:
                constant = graph.initializer.add()
                constant.CopyFrom(value)
                constant.name = node.output[0]
                graph.node.remove(node)


def inferred(model, **options):
    """The model with the shapes of what flows through it. The one that is given loses its large weights to it."""
    return without_weights(model, lambda light: shape_inference.infer_shapes(light, **options))


def shapes(model):
    """What `inferred` tells of the tensors between the nodes; the model stays as it is."""
    held = put_aside(model)
    found = shape_inference.infer_shapes(model).graph.value_info
    put_back(model, held)
    return found


def without_weights(model, step, inline=INLINE):
    """What `step` makes of the model, which goes through it without its large weights where they are too many for a message
    of protobuf. They are not in the model that was given any more then."""
    if size(model) <= inline:
        return step(model)
    held = put_aside(model)
    try:
        made = step(model)
    except Exception:
        put_back(model, held)
        raise
    put_back(made, held)
    return made


def put_aside(model):
    """Numbers of the large weights; each weight says where in the list its own are."""
    held = []
    for tensor in tensors(model):
        if weight(tensor) > SMALL and not tensor.string_data:
            raw(tensor)
            held.append(tensor.raw_data)
            set_external_data(tensor, str(len(held) - 1))
            tensor.ClearField("raw_data")
    return held


def put_back(model, held):
    for tensor in outside(model):
        tensor.raw_data = held[int(next(entry.value for entry in tensor.external_data if entry.key == "location"))]
        tensor.data_location = TensorProto.DEFAULT
        del tensor.external_data[:]
