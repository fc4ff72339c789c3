"""In the environment `paddle`: pooling that is not global, and resizing with align_mode 1. `faults_paddle.py FOLDER`"""

import sys

import paddle
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
