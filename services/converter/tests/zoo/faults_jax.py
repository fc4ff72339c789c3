"""In the environment `jax`: one parameter, for the functions `reverse` and `mean` of jax_nets.py. `faults_jax.py FOLDER`"""

import sys

import numpy as np

np.savez(f"{sys.argv[1]}/w.npz", w=np.random.default_rng(0).normal(size=(3, 2)).astype("float32"))
