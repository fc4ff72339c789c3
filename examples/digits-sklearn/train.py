"""Train a random forest on handwritten digits with scikit-learn: each rank grows its share of the trees.

Run by `yard submit examples/digits-sklearn`. The ranks are independent; rank 0 joins the trees to one forest.
"""

import argparse

import joblib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from trainyard.worker import init_distributed, output_dir, report


def main() -> None:
    options = parse()
    process = init_distributed()
    images, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, random_state=1, stratify=labels
    )
    trees = options.trees // process.world_size
    part = RandomForestClassifier(trees, random_state=process.rank, n_jobs=1).fit(train, train_labels)
    joblib.dump(part, output_dir() / f"part-{process.rank}.joblib")
    process.handle.barrier()  # every part is on the disk
    if process.is_main:
        forest = part
        for rank in range(1, process.world_size):
            forest.estimators_ += joblib.load(output_dir() / f"part-{rank}.joblib").estimators_
        forest.n_estimators = len(forest.estimators_)
        accuracy = float(np.mean(forest.predict(test) == test_labels))
        report(epoch=1, epochs=1, accuracy=accuracy)
        print(f"accuracy of {forest.n_estimators} trees of {process.world_size} ranks {accuracy:.4f}", flush=True)
        joblib.dump(forest, output_dir() / "model.joblib")
    process.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    return parser.parse_args()


if __name__ == "__main__":
    main()
