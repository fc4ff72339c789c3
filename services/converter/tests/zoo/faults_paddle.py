"""In the environment `paddle`: pooling that is not global, resizing with align_mode 1, weights of a layer that is another
once it is saved. `faults_paddle.py FOLDER`"""

import pickle
import shutil
import sys
from pathlib import Path

import paddle
import paddle_nets
from paddle import nn


class Net(nn.Layer):
    """Paddle2ONNX#1130, #241."""

    def __init__(self):
        super().__init__()
        self.mix = nn.Conv2D(3, 3, 1)

    def forward(self, x):
        x = self.mix(x)
        pooled = nn.functional.avg_pool2d(x, 8, stride=1)
        wide = nn.functional.interpolate(x, size=[12, 24], mode="bilinear", align_mode=1)
        return pooled, nn.functional.max_pool2d(wide, 3, stride=2, padding=1)


net = Net()
net.eval()
spec = [paddle.static.InputSpec([None, 3, 8, 16], "float32", "image")]
paddle.jit.save(net, f"{sys.argv[1]}/pooled", input_spec=spec)

for name in ("Split", "Branching"):
    paddle.save(getattr(paddle_nets, name)().state_dict(), f"{sys.argv[1]}/{name}.pdparams")
shutil.copy(paddle_nets.__file__, sys.argv[1])


class Coded:
    def __reduce__(self):
        return print, ("it ran",)


BROKEN = {
    "coded": pickle.dumps({"score.weight": Coded()}),
    "list": pickle.dumps([1, 2]),
    "cut": pickle.dumps({"score.weight": 1.0})[:-3],
    "other": pickle.dumps({"score.weight": paddle.ones([5, 4]).numpy(), "more": paddle.ones([1]).numpy()}),
}
for name, content in BROKEN.items():
    Path(sys.argv[1], f"{name}.pdparams").write_bytes(content)
