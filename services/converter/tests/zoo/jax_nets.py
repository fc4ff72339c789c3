"""Models of JAX: a Flax module and a bare function."""

import jax.numpy as jnp
from flax import linen as nn


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(nn.relu(nn.Dense(16)(x)))


def bare():
    return lambda parameters, x: jnp.tanh(x @ parameters["layer"]["w"] + parameters["layer"]["b"])


def reverse():
    """jax2onnx#212: turned round along an axis that is free."""
    return lambda parameters, x: x[:, ::-1] @ parameters["w"]


def mean():
    """jax2onnx#168: the mean over height and width, both free."""
    return lambda parameters, x: jnp.mean(x, (1, 2)) @ parameters["w"]
