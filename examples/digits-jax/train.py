"""Train a classifier on handwritten digits with JAX, Flax and Optax, data-parallel over all processes.

Run by `yard submit examples/digits-jax`; every process runs this file and gives its share of each batch.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report

process = init_distributed()  # before JAX looks at its devices
import flax.linen as nn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402
from flax.training.train_state import TrainState  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402


class Classifier(nn.Module):
    @nn.compact
    def __call__(self, images: jax.Array) -> jax.Array:
        return nn.Dense(10)(nn.relu(nn.Dense(64)(images)))


def main() -> None:
    options = parse()
    train, labels, test, test_labels = share(process)
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    sharded, replicated = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    model = Classifier()
    parameters = model.init(jax.random.key(1), jnp.zeros((1, 64)))
    state = TrainState.create(apply_fn=model.apply, params=parameters, tx=optax.adam(options.lr))
    state = jax.device_put(state, replicated)

    @jax.jit
    def step(state: TrainState, images: jax.Array, targets: jax.Array) -> tuple[TrainState, jax.Array]:
        def loss_of(params):
            logits = state.apply_fn(params, images)
            return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

        loss, gradients = jax.value_and_grad(loss_of)(state.params)
        return state.apply_gradients(grads=gradients), loss

    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            images, targets = (
                jax.make_array_from_process_local_data(sharded, part[chosen]) for part in (train, labels)
            )
            state, loss = step(state, images, targets)
        if process.is_main:
            params = jax.device_get(state.params)
            accuracy = float(np.mean(np.argmax(model.apply(params, test), axis=1) == test_labels))
            report(epoch=epoch, epochs=options.epochs, loss=float(loss), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {float(loss):.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        flat = {"/".join(path): value for path, value in _flat(jax.device_get(state.params))}
        np.savez(output_dir() / "model.npz", **flat)
    process.close()


def _flat(tree: dict, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], np.ndarray]]:
    found = []
    for key, value in tree.items():
        below = (*path, key)
        found += _flat(value, below) if isinstance(value, dict) else [(below, np.asarray(value))]
    return found


def share(process: Process) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """This rank's share of 1,437 digits to train on, and all 360 held-out ones; the same split on every rank."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32)  # [n, 64], pixels are 0…16
    parts = train_test_split(images, labels.astype(np.int32), test_size=0.2, random_state=1, stratify=labels)
    train, test, train_labels, test_labels = parts
    usable = len(train) - len(train) % process.world_size
    mine = slice(process.rank, usable, process.world_size)
    return train[mine], train_labels[mine], test, test_labels


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=3e-3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
