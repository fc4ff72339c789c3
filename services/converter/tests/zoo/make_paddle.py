"""In the environment `paddle`: a model as paddle.jit.save writes it, and wrote it before Paddle 3. `make_paddle.py FOLDER`"""

import os
import subprocess
import sys

import paddle
from paddle import nn

paddle.seed(0)
net = nn.Sequential(
    nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(8 * 8 * 8, 4)
)
net.eval()
spec = [paddle.static.InputSpec([None, 3, 16, 16], "float32", "image")]
FLAG = "FLAGS_enable_pir_api"
old = os.environ.get(FLAG) == "0"
paddle.jit.save(net, f"{sys.argv[1]}/{'old' if old else 'net'}", input_spec=spec)
if not old:
    subprocess.run([sys.executable, *sys.argv], env={**os.environ, FLAG: "0"}, check=True)
