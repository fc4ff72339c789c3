"""Train on handwritten digits with TensorFlow's ParameterServerStrategy: a chief, workers and a parameter server.

Run by `yard submit examples/digits-tensorflow/ps.yaml`; workers and servers never come past `init_distributed()`.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import init_distributed, output_dir, report

process = init_distributed()
import tensorflow as tf  # noqa: E402


def main() -> None:
    options = parse()
    tf.keras.utils.set_random_seed(1)
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32)
    train, test, train_labels, test_labels = train_test_split(
        images, labels.astype(np.int32), test_size=0.2, random_state=1, stratify=labels
    )
    strategy = process.handle
    with strategy.scope():
        weights = tf.Variable(tf.zeros([64, 10]))
        bias = tf.Variable(tf.zeros([10]))

    @tf.function
    def step(inputs, targets):
        with tf.GradientTape() as tape:
            logits = inputs @ weights + bias
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
        for variable, gradient in zip((weights, bias), tape.gradient(loss, (weights, bias)), strict=True):
            variable.assign_sub(options.lr * gradient)
        return loss

    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    generator = np.random.default_rng(1)
    for epoch in range(1, options.epochs + 1):
        losses = []
        for _ in range(len(train) // options.batch):
            chosen = generator.integers(len(train), size=options.batch)
            losses.append(
                coordinator.schedule(step, args=(tf.constant(train[chosen]), tf.constant(train_labels[chosen])))
            )
        coordinator.join()
        loss = float(np.mean([value.fetch() for value in losses]))
        accuracy = float(np.mean(np.argmax(test @ weights.numpy() + bias.numpy(), axis=1) == test_labels))
        report(epoch=epoch, epochs=options.epochs, loss=loss, accuracy=accuracy)
        print(f"epoch {epoch:2d}  loss {loss:.4f}  accuracy {accuracy:.4f}", flush=True)
    np.savez(output_dir() / "model.npz", weights=weights.numpy(), bias=bias.numpy())
    process.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
