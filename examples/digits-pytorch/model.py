"""A small convolutional network for 8×8 digits. The converter imports `build` to put the trained weights into it."""

from torch import nn


def build() -> nn.Module:
    """float32 [batch, 1, 8, 8] in 0…1 → logits [batch, 10]."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(64 * 4 * 4, 10),
    )
