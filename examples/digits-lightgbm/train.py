"""Train boosted trees on handwritten digits with LightGBM over sockets: every rank holds its share of the rows.

Run by `yard submit examples/digits-lightgbm`. All ranks end with the same model.
"""

import argparse

import lightgbm
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import Process, init_distributed, output_dir, report


def main() -> None:
    options = parse()
    process = init_distributed()
    train, labels, test, test_labels = share(process)
    parameters = {
        **process.handle, "objective": "multiclass", "num_class": 10, "learning_rate": options.lr, "num_leaves": 15,
        "min_data_in_leaf": 5, "num_threads": 1, "seed": 1, "verbosity": -1,
    }  # fmt: skip

    def told(env: lightgbm.callback.CallbackEnv) -> None:
        done = env.iteration + 1
        if process.is_main and done % 10 == 0:
            accuracy = float(np.mean(env.model.predict(test).argmax(1) == test_labels))
            report(epoch=done, epochs=options.rounds, accuracy=accuracy)
            print(f"round {done:3d}  accuracy {accuracy:.4f}", flush=True)

    model = lightgbm.train(parameters, lightgbm.Dataset(train, labels), options.rounds, callbacks=[told])
    if process.is_main:
        model.save_model(output_dir() / "model.txt")
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
    parser.add_argument("--lr", type=float, default=0.1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
