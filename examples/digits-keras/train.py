"""Train a Keras 3 model on handwritten digits, on its PyTorch backend, data-parallel by DistributedDataParallel.

Run by `yard submit examples/digits-keras`. A Keras model on this backend is a torch module, so torch wraps it.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report

process = init_distributed()
import keras  # noqa: E402
import torch  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


def main() -> None:
    options = parse()
    keras.utils.set_random_seed(1)
    train, labels, test, test_labels = share(process)
    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
    parallel = DistributedDataParallel(model) if process.backend else model
    optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)

    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            images, targets = torch.from_numpy(train[chosen]), torch.from_numpy(labels[chosen]).long()
            loss = torch.nn.functional.cross_entropy(parallel(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if process.is_main:
            accuracy = evaluate(model, test, test_labels)
            report(epoch=epoch, epochs=options.epochs, loss=loss.item(), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {loss.item():.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        model.save(output_dir() / "model.keras")
    process.close()


@torch.inference_mode()
def evaluate(network: keras.Model, test: np.ndarray, labels: np.ndarray) -> float:
    """The share of held-out digits that are recognised."""
    return float(np.mean(network(torch.from_numpy(test)).argmax(1).numpy() == labels))


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
