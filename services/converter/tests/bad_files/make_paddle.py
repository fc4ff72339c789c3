"""In the environment `paddle`: programs that reach files, and one that does not, as Paddle 3 writes them and, `old_`, as
Paddle 2 did. `make_paddle.py FOLDER`; what writes, leaves FOLDER/HARM."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import paddle

folder = Path(sys.argv[1])
GIVEN = [paddle.static.InputSpec([None, 3], "float32", "x")]


class Computes(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = paddle.nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)


class Reads(Computes):
    def forward(self, x):
        return self.layer(x) + paddle.vision.ops.read_file("/etc/hostname").astype("float32").mean()


FLAG = "FLAGS_enable_pir_api"
old = os.environ.get(FLAG) == "0"
for name, net in {"honest": Computes(), "reads": Reads()}.items():
    paddle.jit.save(paddle.jit.to_static(net, input_spec=GIVEN), str(folder / (f"old_{name}" if old else name)))
if old:
    sys.exit()
subprocess.run([sys.executable, *sys.argv], env={**os.environ, FLAG: "0"}, check=True)

# Nothing public writes such a program: the result, in a list, goes into a file.
program = json.loads((folder / "honest.json").read_text())
operations = program["program"]["regions"][0]["blocks"][0]["ops"]
result = operations[-1]["I"][0]["%"]
kind = operations[-1]["O"][0]["TT"]


def operation(name, given, gives, result, **attributes):
    told = [{"AT": {"#": f"0.{kind}", "D": value}, "N": key} for key, (kind, value) in attributes.items()]
    stop = {"AT": {"#": "0.a_array", "D": [{"#": "0.a_bool", "D": True}]}, "N": "stop_gradient"}
    return {"#": name, "A": told, "I": [{"%": given}], "O": [{"%": gives, "TT": result}], "OA": [stop]}


operations[-1:-1] = [
    operation("0.combine", result, 901, {"#": "0.t_vec", "D": [kind]}),
    operation(
        "1.save_combine",
        901,
        902,
        {"#": "0.t_dtensor", "D": [{"#": "0.t_ui8"}, [-1], "NCHW", [], 0]},
        file_path=("a_str", str(folder / "HARM")),
        overwrite=("a_bool", True),
        save_as_fp16=("a_bool", False),
        save_to_memory=("a_bool", False),
    ),
]
(folder / "saves.json").write_text(json.dumps(program))
shutil.copy(folder / "honest.pdiparams", folder / "saves.pdiparams")
