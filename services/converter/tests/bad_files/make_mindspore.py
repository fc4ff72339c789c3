"""In the environment `mindspore`: an honest network and its parameters, and what nothing honest writes.
`make_mindspore.py FOLDER`"""

import sys
from pathlib import Path

import mindspore
from mindspore import nn
from mindspore.train import checkpoint_pb2, mind_ir_pb2

folder = Path(sys.argv[1])
mindspore.set_context(mode=mindspore.GRAPH_MODE)
net = nn.Dense(3, 2)
net.set_train(False)
mindspore.export(
    net,
    mindspore.Tensor(shape=[None, 3], dtype=mindspore.float32),
    file_name=str(folder / "honest"),
    file_format="MINDIR",
)
mindspore.save_checkpoint(net, str(folder / "honest.ckpt"))
honest = (folder / "honest.mindir").read_bytes()
stored = (folder / "honest.ckpt").read_bytes()


def network(name, change):
    made = mind_ir_pb2.ModelProto.FromString(honest)
    change(made)
    (folder / f"{name}.mindir").write_bytes(made.SerializeToString())


def parameters(name, change):
    made = checkpoint_pb2.Checkpoint.FromString(stored)
    change(made)
    (folder / f"{name}.ckpt").write_bytes(made.SerializeToString())


def first(made):
    return made.graph.parameter[0]


network("library", lambda made: setattr(made.primitives[-1], "op_type", "Custom"))
network("within", lambda made: made.functions.add(name="f").node.add(op_type="REF::PyExecute:7"))
network("bare", lambda made: setattr(made.graph.node[-1], "op_type", "PyInterpret"))
network("above", lambda made: setattr(first(made).external_data, "location", "../../secret"))
network("root", lambda made: setattr(first(made).external_data, "location", "/etc/passwd"))
network("unknown", lambda made: setattr(made.primitives[-1], "op_type", "Explode"))
network("nowhere", lambda made: made.graph.node[-1].input.append("nowhere"))
network("huge", lambda made: first(made).dims.append(2**40))
network("negative", lambda made: first(made).dims.append(-5))
network("short", lambda made: setattr(first(made), "raw_data", b"123"))
network("typeless", lambda made: setattr(first(made), "data_type", 99))
network("empty", lambda made: made.graph.Clear())
parameters("huge", lambda made: made.value[0].tensor.dims.append(2**40))
parameters("short", lambda made: setattr(made.value[0].tensor, "tensor_content", b"123"))
parameters("typeless", lambda made: setattr(made.value[0].tensor, "tensor_type", "Nothing"))
parameters("other", lambda made: setattr(made.value[0], "tag", "other.weight"))
