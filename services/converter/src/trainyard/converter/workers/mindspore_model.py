"""MindSpore: a network (`.mindir`), or its parameters (`.ckpt`) and the code that builds it.

Its exporter writes ONNX of fixed sizes, in operator set 11, and cannot write a cell that has computed before: each export is
of a fresh one. Where the batch is free, two exports of different batches tell what follows from it (`mindspore_batch`).
"""

import os
import tempfile

import mindspore
import numpy
from mindspore import nn

from trainyard.converter.workers.frame import Fault, first_line, flat, gist, made, named, sentence, where
from trainyard.converter.workers.mindspore_files import described, program, whole

BATCHES = (2, 3)
"""Two that tell the batch from a constant."""


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
        whole(self.path)
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
