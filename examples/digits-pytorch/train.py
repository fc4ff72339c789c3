"""Train a classifier on scikit-learn's handwritten digits with DistributedDataParallel, and leave what others need.

Run by `yard submit examples/digits-pytorch`; every rank runs this file. Results: model.pt (the weights) and samples.npz
(digits that were never trained on, with their labels).
"""

import argparse
import time

import model
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from trainyard.worker import init_distributed, latest_checkpoint, output_dir, report, save_checkpoint


def main() -> None:
    options = parse()
    torch.manual_seed(options.seed)
    process = init_distributed()
    train, test = datasets(options.seed)
    sampler = DistributedSampler(train, process.world_size, process.rank, seed=options.seed)
    loader = DataLoader(train, batch_size=options.batch, sampler=sampler)

    network = model.build().to(process.device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=options.lr)
    first_epoch = resume(network, optimizer)
    parallel = DistributedDataParallel(network) if process.backend else network

    for epoch in range(first_epoch, options.epochs + 1):
        sampler.set_epoch(epoch)
        began = time.perf_counter()
        loss = train_epoch(parallel, loader, optimizer, process.device)
        rate = len(train) / (time.perf_counter() - began)
        if process.is_main:
            accuracy = evaluate(network, test, process.device)
            report(
                epoch=epoch,
                epochs=options.epochs,
                step=epoch * len(loader),
                steps=options.epochs * len(loader),
                loss=loss,
                accuracy=accuracy,
                samples_per_second=rate,
            )
            print(f"epoch {epoch:2d}  loss {loss:.4f}  accuracy {accuracy:.4f}  {rate:.0f} samples/s", flush=True)
        save_checkpoint({"network": network.state_dict(), "optimizer": optimizer.state_dict()}, epoch)

    if process.is_main:
        save_results(network, test)
    process.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32, help="samples a step on each rank")
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def datasets(seed: int) -> tuple[TensorDataset, TensorDataset]:
    """1,437 digits to train on and 360 held out, the classes in equal shares; the same split on every rank."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]  # [n, 1, 8, 8], pixels are 0…16
    parts = train_test_split(images, digits.target, test_size=0.2, random_state=seed, stratify=digits.target)
    train_images, test_images, train_labels, test_labels = (torch.from_numpy(part) for part in parts)
    return TensorDataset(train_images, train_labels), TensorDataset(test_images, test_labels)


def resume(network: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """The epoch to go on with: 1, or the one after the newest checkpoint."""
    found = latest_checkpoint()
    if found is None:
        return 1
    epoch, state = found
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    print(f"going on after epoch {epoch}", flush=True)
    return epoch + 1


def train_epoch(
    network: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, device: torch.device
) -> float:
    """One pass over this rank's share. Gives the mean loss."""
    network.train()
    total = 0.0
    for images, labels in loader:
        loss = nn.functional.cross_entropy(network(images.to(device)), labels.to(device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.inference_mode()
def evaluate(network: nn.Module, test: TensorDataset, device: torch.device) -> float:
    """The share of held-out digits that are recognised."""
    network.eval()
    images, labels = test.tensors
    return (network(images.to(device)).argmax(1).cpu() == labels).float().mean().item()


def save_results(network: nn.Module, test: TensorDataset) -> None:
    images, labels = test.tensors
    torch.save(network.state_dict(), output_dir() / "model.pt")
    np.savez(output_dir() / "samples.npz", image=images.numpy(), labels=labels.numpy())


if __name__ == "__main__":
    main()
