"""In the environment `jax`: parameters as people save them. `make_jax.py FOLDER`"""

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
