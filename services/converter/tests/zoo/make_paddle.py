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
if old:
    # Without dygraph behind it, and so without a .pdiparams.info beside it.
    paddle.enable_static()
    program, start = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(program, start):
        image = paddle.static.data("image", [None, 3, 16, 16], "float32")
        logits = paddle.static.nn.fc(paddle.static.nn.conv2d(image, 8, 3, act="relu"), 4)
        executor = paddle.static.Executor(paddle.CPUPlace())
        executor.run(start)
        prefix = f"{sys.argv[1]}/old_static"
        paddle.static.save_inference_model(prefix, [image], [logits], executor, program=program)
else:
    paddle.save(net.state_dict(), f"{sys.argv[1]}/net.pdparams")
    shutil.copy(paddle_nets.__file__, sys.argv[1])
    subprocess.run([sys.executable, *sys.argv], env={**os.environ, FLAG: "0"}, check=True)
