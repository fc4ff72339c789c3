"""Train boosted trees on handwritten digits with CatBoost: each rank its own model, averaged by rank 0.

Run by `yard submit examples/digits-catboost`. CatBoost has no distributed training in its Python package; the ranks train on
different random seeds and their predictions are averaged.
"""

import argparse

import numpy as np
from catboost import CatBoostClassifier
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from trainyard.worker import init_distributed, output_dir, report


def main() -> None:
    options = parse()
    process = init_distributed()
    images, labels = load_digits(return_X_y=True)
    train, test, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, random_state=1, stratify=labels
    )
    model = CatBoostClassifier(
        iterations=options.rounds, learning_rate=options.lr, depth=5, random_seed=process.rank, thread_count=1,
        verbose=20, allow_writing_files=False,
    )  # fmt: skip
    model.fit(train, train_labels)
    model.save_model(str(output_dir() / f"model-{process.rank}.cbm"))
    parts = process.handle.gather(model.predict_proba(test).astype(np.float32).tobytes())
    if process.is_main:
        votes = np.mean([np.frombuffer(part, np.float32).reshape(len(test), -1) for part in parts], axis=0)
        accuracy = float(np.mean(votes.argmax(1) == test_labels))
        report(epoch=1, epochs=1, accuracy=accuracy)
        print(f"accuracy of {len(parts)} models together {accuracy:.4f}", flush=True)
    process.close()


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--lr", type=float, default=0.2)
    return parser.parse_args()


if __name__ == "__main__":
    main()
