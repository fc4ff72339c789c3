"""MindSpore: a network (`.mindir`), or its parameters (`.ckpt`) and the code that builds it.

Its exporter writes ONNX of fixed sizes, in operator set 11, and cannot write a cell that has computed before: each export is
of a fresh one. Where the batch is free, two exports of different batches tell what follows from it (`mindspore_batch`).
"""

import os
import tempfile

import mindspore
import numpy
from mindspore import nn
from mindspore.train import mind_ir_pb2

from trainyard.converter.workers.frame import Fault, first_line, flat, gist, made, named, sentence, where

REACHING = {"Custom", "CustomExt", "PyExecute", "PyFunc", "PyInterpret", "TensorDump"}
"""Operators that call Python, load a library or write a file. Source: mindspore.ops.operations."""
BATCHES = (2, 3)
"""Two that tell the batch from a constant."""
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


def load(request):
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    mindspore.set_device("CPU")
    return Model(request)


class Model:
    outputs = None

    def __init__(self, request):
        self.request = request
        self.path = request["weights"]
        self.inputs = None
        if not self.path.lower().endswith(".ckpt"):
            self.inputs = described(program(request))
        self.cell = self.fresh()
        self.framework = f"mindspore {mindspore.__version__}"
        self.parameters = int(sum(numpy.prod(item.shape) for item in self.cell.get_parameters()))

    def fresh(self):
        """The network as it lies in the file. Raises Fault."""
        name = os.path.basename(self.path)
        if self.inputs is not None:
            try:
                return nn.GraphCell(mindspore.load(self.path))
            except Exception as error:  # they have no common class but Exception
                raise Fault("model", f"{name} cannot be read as MindIR: {first_line(error)}")
        cell = made(self.request)
        if not isinstance(cell, nn.Cell):
            kind = type(cell).__name__
            raise Fault("model", f"{self.request['model']} gave a {kind}, a mindspore.nn.Cell is needed")
        try:
            stored = mindspore.load_checkpoint(self.path)
            lacking, _ = mindspore.load_param_into_net(cell, stored, strict_load=True)
        except Exception as error:
            raise Fault("model", f"{name} cannot be read as parameters of {self.request['model']}: {gist(error)}")
        if lacking:
            raise Fault("model", f"{name} lacks {len(lacking)} parameters of the model, {lacking[0]} among them")
        cell.set_train(False)
        return cell

    def compute(self, inputs, case):
        given = [mindspore.Tensor(inputs[spec["name"]]) for spec in self.request["inputs"]]
        try:
            found = [numpy.array(value.asnumpy()) for value in flat(self.cell(*given))]
        except Exception as error:
            words = f"the model fails on its declared inputs ({case}): {sentence(error)}{where(error, self.request)}"
            raise Fault("model", words)
        return named(found, self.request["output_names"])

    def export(self, rung, references, path):
        from trainyard.converter.workers import onnx_file
        from trainyard.converter.workers.graphs import rename
        from trainyard.converter.workers.mindspore_batch import freed

        del rung  # it writes the set that it knows
        specs = self.request["inputs"]
        loose = [spec["name"] for spec in specs if -1 in spec["shape"]]
        if loose:
            words = f"input {loose[0]!r} has another free dimension than the batch, and MindSpore's exporter fixes all sizes"
            raise Fault("export", f"{words}: declare it with a size (convert.inputs)")
        if any("batch" in spec["shape"] for spec in specs):
            model = freed(*(self.written(batch) for batch in BATCHES), BATCHES)
        else:
            model = self.written(1)
        rename(model, [spec["name"] for spec in specs], list(next(iter(references.values()))))
        onnx_file.save(model, path)

    def written(self, batch):
        import onnx

        examples = [
            mindspore.Tensor(numpy.zeros([batch if dim == "batch" else dim for dim in spec["shape"]], spec["dtype"]))
            for spec in self.request["inputs"]
        ]
        with tempfile.TemporaryDirectory() as between:
            file = os.path.join(between, "model.onnx")
            try:
                mindspore.export(self.fresh(), *examples, file_name=file, file_format="ONNX")
            except Exception as error:
                raise Fault("export", f"{gist(error)}{where(error, self.request)}")
            return onnx.load(file)


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
