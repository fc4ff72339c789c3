"""In the environment `jax`: parameters as people save them. `make_jax.py FOLDER`"""

import json
import sys
from pathlib import Path

import jax
import numpy as np
from flax.serialization import to_bytes

folder = Path(sys.argv[1])
sys.path.insert(0, str(Path(__file__).parent))
import jax_nets  # noqa: E402

random = np.random.default_rng(0)
parameters = jax_nets.Net().init(jax.random.PRNGKey(0), np.zeros((1, 5), "float32"))
(folder / "net.msgpack").write_bytes(to_bytes(parameters))
layer = {"layer/w": random.normal(size=(5, 2)).astype("float32"), "layer/b": np.ones(2, "float32")}
np.savez(folder / "bare.npz", **layer)
numbers, header = b"", {}
for name, value in layer.items():
    place = [len(numbers), len(numbers) + value.nbytes]
    header[name], numbers = {"dtype": "F32", "shape": value.shape, "data_offsets": place}, numbers + value.tobytes()
text = json.dumps(header).encode()
(folder / "bare.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + numbers)
