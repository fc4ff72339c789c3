"""In the environment `paddle`: a model as paddle.jit.save writes it, and wrote it before Paddle 3. `make_paddle.py FOLDER`"""

import os
import shutil
import subprocess
import sys

import paddle
import paddle_nets

paddle.seed(0)
net = paddle_nets.plain()
net.eval()
spec = [paddle.static.InputSpec([None, 3, 16, 16], "float32", "image")]
FLAG = "FLAGS_enable_pir_api"
old = os.environ.get(FLAG) == "0"
paddle.jit.save(net, f"{sys.argv[1]}/{'old' if old else 'net'}", input_spec=spec)
if not old:
    paddle.save(net.state_dict(), f"{sys.argv[1]}/net.pdparams")
    shutil.copy(paddle_nets.__file__, sys.argv[1])
    subprocess.run([sys.executable, *sys.argv], env={**os.environ, FLAG: "0"}, check=True)
