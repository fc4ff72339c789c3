"""Train a softmax regression on handwritten digits in plain numpy: ranks average their gradients by themselves.

Run by `yard submit examples/digits-generic`. No framework at all: the ranks find one another by what every job is told.
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


def main() -> None:
    options = parse()
    process = init_distributed()
    train, labels, test, test_labels = share(process)
    wanted = np.eye(10, dtype=np.float32)[labels]
    weights = np.zeros((64, 10), np.float32)
    for step in range(1, options.steps + 1):
        guessed = softmax(train @ weights)
        gradient = train.T @ (guessed - wanted) / len(train)
        parts = process.handle.gather(gradient.tobytes())
        weights -= options.lr * np.mean([np.frombuffer(part, np.float32) for part in parts], axis=0).reshape(64, 10)
        if process.is_main and step % 50 == 0:
            accuracy = float(np.mean((test @ weights).argmax(1) == test_labels))
            report(step=step, steps=options.steps, accuracy=accuracy)
            print(f"step {step:4d}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        np.save(output_dir() / "model.npy", weights)
    process.close()


def softmax(logits: np.ndarray) -> np.ndarray:
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


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
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--lr", type=float, default=2.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
