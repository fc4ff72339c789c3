"""Layers of Paddle whose weights are converted; in the environment `paddle`."""

import paddle
from paddle import nn


def plain():
    return nn.Sequential(
        nn.Conv2D(3, 8, 3, padding=1),
        nn.BatchNorm2D(8),
        nn.ReLU(),
        nn.MaxPool2D(2),
        nn.Flatten(),
        nn.Linear(8 * 8 * 8, 4),
    )


class Split(nn.Layer):
    """Paddle2ONNX#832: another model once it is saved."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(5, 3)

    def forward(self, x):
        scores = self.score(x)
        return scores if paddle.in_dynamic_mode() else nn.functional.softmax(scores)


class Branching(nn.Layer):
    """A branch on the data, which the program keeps."""

    def __init__(self):
        super().__init__()
        self.score = nn.Linear(5, 3)

    def forward(self, x):
        scores = self.score(x)
        if scores.sum() > 0:
            scores = scores * 2
        return scores
