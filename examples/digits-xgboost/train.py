"""Train boosted trees on handwritten digits with XGBoost's collective: every rank holds its share of the rows.

Run by `yard submit examples/digits-xgboost`. All ranks end with the same model.
"""

import argparse

import numpy as np
import xgboost
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


class Told(xgboost.callback.TrainingCallback):
    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds

    def after_iteration(self, model: xgboost.Booster, epoch: int, evals_log: dict) -> bool:
        error = evals_log["heldout"]["merror"][-1]
        report(epoch=epoch + 1, epochs=self.rounds, loss=evals_log["heldout"]["mlogloss"][-1], accuracy=1 - error)
        return False


def main() -> None:
    options = parse()
    process = init_distributed()
    train, labels, test, test_labels = share(process)
    parameters = {
        "objective": "multi:softprob", "num_class": 10, "max_depth": 4, "eta": options.lr, "tree_method": "hist",
        "nthread": 1, "seed": 1, "eval_metric": ["mlogloss", "merror"],
    }  # fmt: skip
    model = xgboost.train(
        parameters, xgboost.DMatrix(train, labels), options.rounds,
        evals=[(xgboost.DMatrix(test, test_labels), "heldout")], verbose_eval=20,
        callbacks=[Told(options.rounds)] if process.is_main else [],
    )  # fmt: skip
    if process.is_main:
        model.save_model(output_dir() / "model.ubj")
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
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--lr", type=float, default=0.3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
