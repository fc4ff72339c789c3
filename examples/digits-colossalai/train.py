"""Train a classifier on handwritten digits with Colossal-AI's Booster and its DDP plugin.

Run by `yard submit examples/digits-colossalai`; every rank runs this file.
"""

import argparse

import numpy as np
import torch
from colossalai.booster import Booster
from colossalai.booster.plugin import TorchDDPPlugin
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


def main() -> None:
    options = parse()
    torch.manual_seed(1)
    process = init_distributed()
    train, labels, test, test_labels = share(process)
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    optimizer = torch.optim.Adam(network.parameters(), lr=options.lr)
    booster = Booster(plugin=TorchDDPPlugin())
    network, optimizer, *_ = booster.boost(network, optimizer)

    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            images, targets = torch.from_numpy(train[chosen]), torch.from_numpy(labels[chosen]).long()
            loss = torch.nn.functional.cross_entropy(network(images), targets)
            optimizer.zero_grad()
            booster.backward(loss, optimizer)
            optimizer.step()
        if process.is_main:
            accuracy = evaluate(network, test, test_labels)
            report(epoch=epoch, epochs=options.epochs, loss=loss.item(), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {loss.item():.4f}  accuracy {accuracy:.4f}", flush=True)
    if process.is_main:
        torch.save(network.unwrap().state_dict(), output_dir() / "model.pt")
    process.close()


@torch.inference_mode()
def evaluate(network: torch.nn.Module, test: np.ndarray, labels: np.ndarray) -> float:
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
