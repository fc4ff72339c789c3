"""Activations."""

import torch
from torch.nn import functional as F


def Relu(x):
    return torch.relu(x)


def LeakyRelu(x, *, alpha=0.01):
    return F.leaky_relu(x, alpha)


def PRelu(x, slope):
    return torch.where(x < 0, x * slope, x)


def ThresholdedRelu(x, *, alpha=1.0):
    return torch.where(x > alpha, x, torch.zeros_like(x))


def Elu(x, *, alpha=1.0):
    return F.elu(x, alpha)


def Celu(x, *, alpha=1.0):
    return F.celu(x, alpha)


def Selu(x, *, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875):
    return gamma * torch.where(x > 0, x, alpha * torch.expm1(x))


def Gelu(x, *, approximate="none"):
    return F.gelu(x, approximate=approximate)


def Sigmoid(x):
    return torch.sigmoid(x)


def HardSigmoid(x, *, alpha=0.2, beta=0.5):
    return (alpha * x + beta).clamp(0, 1)


def HardSwish(x):
    return F.hardswish(x)


def Mish(x):
    return F.mish(x)


def Swish(x, *, alpha=1.0):
    return x * torch.sigmoid(alpha * x)


def Softplus(x):
    return torch.logaddexp(x, torch.zeros_like(x))


def Softsign(x):
    return F.softsign(x)


def Shrink(x, *, bias=0.0, lambd=0.5):
    low = torch.where(x < -lambd, x + bias, torch.zeros_like(x))
    return torch.where(x > lambd, x - bias, low).to(x.dtype)


def Clip(x, low=None, high=None):
    if low is not None:
        x = torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


def Softmax(x, *, axis=-1):
    return torch.softmax(x, axis)


def LogSoftmax(x, *, axis=-1):
    return torch.log_softmax(x, axis)


def Hardmax(x, *, axis=-1):
    return torch.zeros_like(x).scatter_(axis, x.argmax(axis, keepdim=True), 1)


def Dropout(x, ratio=None, training_mode=None, *, seed=0) -> tuple:
    """`seed` has no meaning across frameworks."""
    del seed
    if training_mode is None or not bool(training_mode) or (ratio is not None and float(ratio) == 0):
        return x, torch.ones_like(x, dtype=torch.bool)
    chance = 0.5 if ratio is None else float(ratio)
    kept = torch.rand_like(x) >= chance
    return x * kept / (1 - chance), kept
