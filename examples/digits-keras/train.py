"""Train a Keras 3 model on handwritten digits, data-parallel, on the backend that the job's mode names.

Run by `yard submit examples/digits-keras`. The model is Keras'; gradients are averaged by the backend's own means: torch's
DistributedDataParallel, TensorFlow's MultiWorkerMirroredStrategy, or a JAX array that is sharded over all processes.
"""

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report

process = init_distributed()  # before the backend looks at its devices
import keras  # noqa: E402

Step = Callable[[np.ndarray, np.ndarray], float]
"""One step of training on this rank's part of a batch: images and labels → loss."""


def build() -> keras.Model:
    return keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])


def main() -> None:
    options = parse()
    keras.utils.set_random_seed(1)
    train, labels, test, test_labels = share(process)
    model, step = {"torch": on_torch, "tensorflow": on_tensorflow, "jax": on_jax}[keras.backend.backend()](options.lr)
    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            loss = step(train[chosen], labels[chosen])
        if process.is_main:
            guessed = keras.ops.convert_to_numpy(model(test)).argmax(1)
            accuracy = float(np.mean(guessed == test_labels))
            report(epoch=epoch, epochs=options.epochs, loss=loss, accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {loss:.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        model.save(output_dir() / "model.keras")
    process.close()


def on_torch(lr: float) -> tuple[keras.Model, Step]:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    model = build()  # on this backend a Keras model is a torch module
    parallel = DistributedDataParallel(model) if process.backend else model
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        logits = parallel(torch.from_numpy(images))
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return model, step


def on_tensorflow(lr: float) -> tuple[keras.Model, Step]:
    import tensorflow as tf

    strategy = process.handle
    with strategy.scope():
        model = build()
        optimizer = keras.optimizers.Adam(lr)
        optimizer.build(model.trainable_variables)

    @tf.function
    def train_step(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        def on_replica(images: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, model(images, training=True))
                loss = tf.reduce_mean(losses) / strategy.num_replicas_in_sync
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(on_replica, (images, labels)), axis=None)

    return model, lambda images, labels: float(train_step(tf.constant(images), tf.constant(labels)))


def on_jax(lr: float) -> tuple[keras.Model, Step]:
    import jax
    import optax
    from jax.sharding import NamedSharding, PartitionSpec

    model = build()
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    sharded, replicated = NamedSharding(mesh, PartitionSpec("data")), NamedSharding(mesh, PartitionSpec())
    optimizer = optax.adam(lr)
    weights = jax.device_put([np.asarray(variable) for variable in model.trainable_variables], replicated)
    state = jax.device_put(optimizer.init(weights), replicated)

    @jax.jit
    def train_step(weights: list, state: tuple, images: jax.Array, labels: jax.Array) -> tuple:
        def loss_of(weights: list) -> jax.Array:
            logits, _ = model.stateless_call(weights, [], images, training=True)
            return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

        loss, gradients = jax.value_and_grad(loss_of)(weights)
        changes, state = optimizer.update(gradients, state)
        return optax.apply_updates(weights, changes), state, loss

    def step(images: np.ndarray, labels: np.ndarray) -> float:
        nonlocal weights, state
        whole = [jax.make_array_from_process_local_data(sharded, part) for part in (images, labels)]
        weights, state, loss = train_step(weights, state, *whole)
        for variable, value in zip(model.trainable_variables, weights, strict=True):
            variable.assign(np.asarray(value.addressable_data(0)))
        return float(loss)

    return model, step


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
