"""Models of JAX: a Flax module and a bare function."""

import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(16)(x)))


def bare():
    return lambda parameters, x: jnp.tanh(x @ parameters["layer"]["w"] + parameters["layer"]["b"])
