"""In the environment `mindspore`: a network with a free batch, one with a fixed one, and its parameters alone.
`make_mindspore.py FOLDER`"""

import sys
from pathlib import Path

import mindspore
import numpy as np
from mindspore.train import mind_ir_pb2

sys.path.insert(0, str(Path(__file__).parent))
import mindspore_nets

mindspore.set_context(mode=mindspore.GRAPH_MODE)
mindspore.set_seed(0)
net = mindspore_nets.Net()
net.set_train(False)
for name, batch in (("net", None), ("fixed", 4)):
    given = mindspore.Tensor(shape=[None, 3, 16, 16], dtype=mindspore.float32)
    if batch:
        given = mindspore.Tensor(np.zeros((batch, 3, 16, 16), "float32"))
    mindspore.export(net, given, file_name=f"{sys.argv[1]}/{name}", file_format="MINDIR")
mindspore.save_checkpoint(net, f"{sys.argv[1]}/net.ckpt")
mindspore.save_checkpoint(mindspore_nets.Recurrent(), f"{sys.argv[1]}/recurrent.ckpt")

# Nothing harmless of MindSpore writes these: an operator that calls Python, parameters elsewhere, half a file.
written = Path(sys.argv[1], "net.mindir").read_bytes()
reaching, outside = (mind_ir_pb2.ModelProto.FromString(written) for _ in range(2))
reaching.primitives[-1].op_type = "PyFunc"
outside.graph.parameter[0].external_data.location = "net_variables/../../secret"
Path(sys.argv[1], "reaching.mindir").write_bytes(reaching.SerializeToString())
Path(sys.argv[1], "outside.mindir").write_bytes(outside.SerializeToString())
Path(sys.argv[1], "half.mindir").write_bytes(written[: len(written) // 2])
