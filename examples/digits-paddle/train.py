"""Train a classifier on handwritten digits with PaddlePaddle's DataParallel.

Run by `yard submit examples/digits-paddle`; every rank runs this file.
"""

import argparse

import numpy as np
import paddle
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


def main() -> None:
    options = parse()
    process = init_distributed()
    paddle.seed(1)
    train, labels, test, test_labels = share(process)
    network = paddle.nn.Sequential(paddle.nn.Linear(64, 64), paddle.nn.ReLU(), paddle.nn.Linear(64, 10))
    parallel = paddle.DataParallel(network) if process.backend else network
    optimizer = paddle.optimizer.Adam(options.lr, parameters=network.parameters())
    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            images, targets = paddle.to_tensor(train[chosen]), paddle.to_tensor(labels[chosen].astype(np.int64))
            loss = paddle.nn.functional.cross_entropy(parallel(images), targets)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        if process.is_main:
            with paddle.no_grad():
                guessed = network(paddle.to_tensor(test)).argmax(1).numpy()
            accuracy = float(np.mean(guessed == test_labels))
            report(epoch=epoch, epochs=options.epochs, loss=float(loss), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {float(loss):.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        paddle.save(network.state_dict(), str(output_dir() / "model.pdparams"))
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
