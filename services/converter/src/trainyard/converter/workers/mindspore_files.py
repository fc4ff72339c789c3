"""Files of MindSpore before MindSpore itself reads them: what reaches further than its tensors, and what is not whole. It
takes a parameter whose bytes end too early for one, whatever lies behind them.
"""

import math
import os

from mindspore.train import checkpoint_pb2, mind_ir_pb2

from trainyard.converter.workers.frame import Fault, first_line

REACHING = {"Custom", "CustomExt", "PyExecute", "PyFunc", "PyInterpret", "TensorDump"}
"""Operators that call Python, load a library or write a file. Source: mindspore.ops.operations."""
DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    16: "bfloat16",
    17: "float64",
}
"""Source: mind_ir.proto, TensorProto.DataType."""
SIZES = {"bool": 1, "bfloat16": 2}
"""Bytes of a number whose type does not say how many bits it has, or ends in something else."""


def program(request):
    """What a `.mindir` holds, once it is known to reach no further than its tensors. Raises Fault."""
    name = os.path.basename(request["weights"])
    found = mind_ir_pb2.ModelProto()
    try:
        with open(request["weights"], "rb") as file:
            found.ParseFromString(file.read())
    except Exception as error:
        raise Fault("model", f"{name} cannot be read as MindIR: {first_line(error)}")
    graphs = [found.graph, *found.functions]
    operators = {item.op_type.rpartition("::")[2].partition(":")[0] for graph in graphs for item in graph.node}
    reaching = sorted(REACHING & (operators | {item.op_type for item in found.primitives}))
    if reaching and not request["trust"]:
        raise Fault("model", f"{name}: {reaching[0]} reaches files or code; convert.trust lets it")
    for graph in graphs:
        for item in graph.parameter:
            place = item.external_data.location
            if os.path.isabs(place) or ".." in place.split("/"):
                raise Fault("model", f"{name}: parameter {item.name} lies outside of its folder")
            wanted = width(DTYPES.get(item.data_type, "")) * math.prod(item.dims)
            if item.raw_data and wanted != len(item.raw_data):
                words = f"{item.name} has {len(item.raw_data)} bytes, its sizes say {wanted}"
                raise Fault("model", f"{name} is not whole: {words}")
    if not found.graph.input:
        raise Fault("model", f"{name} holds no network that takes anything")
    return found


def described(found):
    """Inputs of the network; a free dimension is -1 there as well."""
    inputs = []
    for item in found.graph.input:
        kind = item.tensor[0].data_type if item.tensor else 0
        shape = [int(size) for size in item.tensor[0].dims] if item.tensor else []
        inputs.append({"name": item.name.rpartition(":")[2], "dtype": DTYPES.get(kind, f"type {kind}"), "shape": shape})
    return inputs


def whole(path):
    """Refuses parameters (`.ckpt`) whose bytes are not as many as their sizes say. Raises Fault."""
    name = os.path.basename(path)
    found = checkpoint_pb2.Checkpoint()
    try:
        with open(path, "rb") as file:
            found.ParseFromString(file.read())
    except Exception as error:
        raise Fault("model", f"{name} cannot be read as parameters of MindSpore: {first_line(error)}")
    have, wanted = {}, {}
    for item in found.value:  # a large one lies there in pieces, each of which says the sizes of the whole
        size = width(item.tensor.tensor_type)
        if size:
            have[item.tag] = have.get(item.tag, 0) + len(item.tensor.tensor_content)
            wanted[item.tag] = size * math.prod(item.tensor.dims)
    wrong = [tag for tag in wanted if have[tag] != wanted[tag]]
    if wrong:
        words = f"{name} is not whole: {wrong[0]} has {have[wrong[0]]} bytes, its sizes say {wanted[wrong[0]]}"
        raise Fault("model", words)


def width(kind):
    """Bytes of a number; 0 where that is not known."""
    kind = kind.lower()
    bits = kind.lstrip("abcdefghijklmnopqrstuvwxyz")
    return SIZES.get(kind) or (int(bits) // 8 if bits.isdigit() and kind not in ("int4", "string") else 0)
