"""Train a forest on handwritten digits with Ray: tasks grow trees on every node of a cluster that belongs to this job.

Run by `yard submit examples/digits-ray`; the launcher starts a head and workers, and runs this file on the head.
"""

import argparse

import joblib
import numpy as np
import ray
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from trainyard.worker import init_distributed, output_dir, report


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def grow(images: np.ndarray, labels: np.ndarray, trees: int, seed: int) -> tuple[str, RandomForestClassifier]:
    forest = RandomForestClassifier(trees, random_state=seed, n_jobs=1).fit(images, labels)
    return ray.get_runtime_context().get_node_id(), forest


def main() -> None:
    options = parse()
    process = init_distributed()
    images, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, random_state=1, stratify=labels
    )
    shared = ray.put(train), ray.put(train_labels)
    waiting = [grow.remote(*shared, options.trees // options.tasks, seed) for seed in range(options.tasks)]
    forest, nodes = None, set()
    for count in range(1, options.tasks + 1):
        (ready,), waiting = ray.wait(waiting)
        node, part = ray.get(ready)
        nodes.add(node)
        if forest is None:
            forest = part
        else:
            forest.estimators_ += part.estimators_
        forest.n_estimators = len(forest.estimators_)
        accuracy = float(np.mean(forest.predict(test) == test_labels))
        report(step=count, steps=options.tasks, accuracy=accuracy, nodes=len(nodes))
        print(f"{forest.n_estimators:3d} trees from {len(nodes)} nodes  accuracy {accuracy:.4f}", flush=True)
    joblib.dump(forest, output_dir() / "model.joblib")
    process.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--tasks", type=int, default=8)
    return parser.parse_args()


if __name__ == "__main__":
    main()
