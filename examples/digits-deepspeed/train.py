"""Train a classifier on handwritten digits with DeepSpeed: ZeRO 1, 2 or 3, with or without offload.

Run by `yard submit examples/digits-deepspeed`; every rank runs this file. Its CPU kernels are compiled at first use, which
needs a C++ compiler and takes half a minute.
"""

import argparse

import deepspeed
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report
from trainyard.worker.frameworks.deepspeed import deepspeed_config


def main() -> None:
    options = parse()
    torch.manual_seed(1)
    process = init_distributed()
    train, labels, test, test_labels = share(process)
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    config = deepspeed_config(micro_batch=options.batch, stage=options.stage, offload=options.offload, lr=options.lr)
    engine, _, _, _ = deepspeed.initialize(model=network, model_parameters=network.parameters(), config=config)

    steps = len(train) // options.batch
    for epoch in range(1, options.epochs + 1):
        order = np.random.default_rng(epoch).permutation(len(train))
        for number in range(steps):
            chosen = order[number * options.batch : (number + 1) * options.batch]
            images, targets = torch.from_numpy(train[chosen]), torch.from_numpy(labels[chosen]).long()
            loss = torch.nn.functional.cross_entropy(engine(images), targets)
            engine.backward(loss)
            engine.step()
        accuracy = evaluate(engine, test, test_labels)  # on every rank: with ZeRO 3 each holds a part
        if process.is_main:
            report(epoch=epoch, epochs=options.epochs, loss=loss.item(), accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {loss.item():.4f}  accuracy {accuracy:.4f}", flush=True)
    engine.save_16bit_model(str(output_dir()), "model.bin")
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
    parser.add_argument("--stage", type=int, default=2, choices=range(4))
    parser.add_argument("--offload", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
