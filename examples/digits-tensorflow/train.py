"""Train a classifier on handwritten digits with TensorFlow's MultiWorkerMirroredStrategy in a loop of its own.

Run by `yard submit examples/digits-tensorflow`; every process runs this file.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report

process = init_distributed()  # before TensorFlow is used: a group cannot be formed later
import tensorflow as tf  # noqa: E402


def main() -> None:
    options = parse()
    tf.keras.utils.set_random_seed(1)
    train, labels, test, test_labels = share(process)
    strategy = process.handle
    with strategy.scope():
        model = tf.keras.Sequential(
            [tf.keras.Input((64,)), tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(10)]
        )
        optimizer = tf.keras.optimizers.Adam(options.lr)
        optimizer.build(model.trainable_variables)

    def step(images, targets):
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(targets, model(images, training=True))
            loss = tf.reduce_mean(losses) / strategy.num_replicas_in_sync
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    @tf.function
    def train_step(images, targets):
        losses = strategy.run(step, (images, targets))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            loss = train_step(tf.constant(train[chosen]), tf.constant(labels[chosen]))
        accuracy = float(np.mean(np.argmax(model(test), axis=1) == test_labels))
        if process.is_main:
            report(epoch=epoch, epochs=options.epochs, loss=float(loss), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {float(loss):.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        model.export(output_dir() / "saved_model", verbose=False)
    process.close()


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
