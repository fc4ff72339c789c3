"""Train a classifier on handwritten digits with Apache MXNet's Gluon and its parameter servers.

Run by `yard submit examples/digits-mxnet`; scheduler, server and workers all run this file.
"""

import argparse

from trainyard.worker import Process, init_distributed, output_dir, report

process = init_distributed()  # a scheduler or server never comes past this line
import mxnet as mx  # noqa: E402
import numpy as np  # noqa: E402
from mxnet import autograd, gluon  # noqa: E402
from sklearn.datasets import load_digits  # noqa: E402
from sklearn.model_selection import train_test_split  # noqa: E402


def main() -> None:
    options = parse()
    mx.random.seed(1)
    train, labels, test, test_labels = share(process)
    network = gluon.nn.HybridSequential()
    network.add(gluon.nn.Dense(64, activation="relu", in_units=64), gluon.nn.Dense(10, in_units=64))
    network.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(
        network.collect_params(), "adam", {"learning_rate": options.lr}, kvstore=process.handle, update_on_kvstore=False
    )
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            with autograd.record():
                loss = loss_of(network(mx.nd.array(train[chosen])), mx.nd.array(labels[chosen]))
            loss.backward()
            trainer.step(options.batch * process.world_size)
        if process.is_main:
            accuracy = float(np.mean(network(mx.nd.array(test)).asnumpy().argmax(1) == test_labels))
            value = float(loss.mean().asscalar())
            report(epoch=epoch, epochs=options.epochs, loss=value, accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {value:.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        network.save_parameters(str(output_dir() / "model.params"))
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
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
