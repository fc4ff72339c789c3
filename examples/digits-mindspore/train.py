"""Train a classifier on handwritten digits with MindSpore under msrun, gradients averaged over all ranks.

Run by `yard submit examples/digits-mindspore`; msrun starts every rank of this file.
"""

import argparse

import mindspore
import numpy as np
from mindspore import nn, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


def main() -> None:
    options = parse()
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    process = init_distributed()
    mindspore.set_seed(1)
    train, labels, test, test_labels = share(process)
    network = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 10))
    optimizer = nn.Adam(network.trainable_params(), learning_rate=options.lr)
    loss_of = nn.CrossEntropyLoss()
    gradients_of = mindspore.value_and_grad(
        lambda images, targets: loss_of(network(images), targets), None, optimizer.parameters
    )
    average = ops.AllReduce() if process.backend else None
    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            loss, gradients = gradients_of(mindspore.Tensor(train[chosen]), mindspore.Tensor(labels[chosen]))
            if average is not None:
                gradients = tuple(average(gradient) / process.world_size for gradient in gradients)
            optimizer(gradients)
        if process.is_main:
            guessed = network(mindspore.Tensor(test)).asnumpy().argmax(1)
            accuracy = float(np.mean(guessed == test_labels))
            report(epoch=epoch, epochs=options.epochs, loss=float(loss.asnumpy()), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {float(loss.asnumpy()):.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        mindspore.save_checkpoint(network, str(output_dir() / "model.ckpt"))
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
