"""Train a classifier on handwritten digits with Lightning's Trainer and DistributedDataParallel.

Run by `yard submit examples/digits-lightning`; every rank runs this file. Killed in the middle, the next attempt goes on
after its last epoch.
"""

import argparse
import warnings
from typing import Any

import lightning
import numpy as np
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from trainyard.worker import checkpoint_dir, init_distributed, output_dir, report
from trainyard.worker.frameworks.lightning import checkpoint_io


class Classifier(lightning.LightningModule):
    def __init__(self, lr: float) -> None:
        super().__init__()
        self.lr = lr
        self.network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        images, labels = batch
        loss = functional.cross_entropy(self.network(images), labels)
        self.log("loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], _: int) -> None:
        images, labels = batch
        hits = (self.network(images).argmax(1) == labels).float().mean()
        self.log("accuracy", hits, on_epoch=True, sync_dist=True)  # the mean over all digits of all ranks

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class Reports(lightning.Callback):
    """What the trainer has measured, to Trainyard."""

    def on_train_start(self, trainer: lightning.Trainer, module: Any) -> None:
        if trainer.is_global_zero:
            print(f"{trainer.world_size} ranks, from epoch {trainer.current_epoch + 1}", flush=True)

    def on_train_epoch_end(self, trainer: lightning.Trainer, module: Any) -> None:
        if trainer.is_global_zero:
            epoch, measured = trainer.current_epoch + 1, trainer.callback_metrics
            loss, accuracy = measured["loss"].item(), measured["accuracy"].item()
            report(epoch=epoch, epochs=trainer.max_epochs, loss=loss, accuracy=accuracy)
            print(f"epoch {epoch:2d}  loss {loss:.4f}  accuracy {accuracy:.4f}", flush=True)


def main() -> None:
    options = parse()
    lightning.seed_everything(options.seed, verbose=False)
    # Numpy arrays of 1,437 digits: loader processes would cost more than they bring.
    warnings.filterwarnings("ignore", message=".*does not have many workers")
    process = init_distributed()
    train, test = datasets()
    # One file that is always whole. Lightning gives every rank its share of the data by itself.
    last = ModelCheckpoint(
        checkpoint_dir(), filename="last", enable_version_counter=False, save_on_train_epoch_end=True
    )
    trainer = lightning.Trainer(
        **process.handle,  # devices, nodes and strategy of this job
        max_epochs=options.epochs,
        callbacks=[Reports(), last],
        plugins=[checkpoint_io()],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model = Classifier(options.lr)
    loaders = DataLoader(train, options.batch, shuffle=True), DataLoader(test, options.batch)
    trainer.fit(model, *loaders, ckpt_path="last" if any(checkpoint_dir().glob("last.ckpt")) else None)
    if process.is_main:
        torch.save(model.network.state_dict(), output_dir() / "model.pt")
    process.close()


def datasets() -> tuple[TensorDataset, TensorDataset]:
    """1,437 digits to train on and 360 held out, the classes in equal shares; the same split on every rank."""
    images, labels = load_digits(return_X_y=True)
    images = (images / 16.0).astype(np.float32)  # [n, 64], pixels are 0…16
    parts = train_test_split(images, labels, test_size=0.2, random_state=1, stratify=labels)
    train, test, train_labels, test_labels = (torch.from_numpy(part) for part in parts)
    return TensorDataset(train, train_labels), TensorDataset(test, test_labels)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="samples a step on each rank")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
