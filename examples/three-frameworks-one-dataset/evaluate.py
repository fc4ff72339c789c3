"""JAX judges PyTorch's network on TensorFlow's pictures."""

import jax
import jax.numpy as jnp

from trainyard.worker import dataset, report

(weights,) = dataset("examples/digits/weights").jax(batch=1)


@jax.jit
def classes(pixels: jax.Array) -> jax.Array:
    hidden = jax.nn.relu(pixels.reshape(len(pixels), -1) @ weights["1_weight"][0].T + weights["1_bias"][0])
    return jnp.argmax(hidden @ weights["3_weight"][0].T + weights["3_bias"][0], axis=1)


test = dataset("examples/digits/test")
right = sum(int(jnp.sum(classes(batch["pixels"]) == batch["label"])) for batch in test.jax(batch=100))
report(step=1, steps=1, accuracy=right / len(test))
