"""Normalisations."""

import torch
from torch.nn import functional as F


def BatchNormalization(
    x, scale, bias, mean, variance, *, epsilon=1e-5, momentum=0.9, training_mode=0, spatial=1
) -> tuple:
    """`spatial` is opset 7's, and 1 there is what there is now."""
    del spatial
    if not training_mode:
        return (F.batch_norm(x, mean, variance, scale.to(x.dtype), bias.to(x.dtype), False, 0.0, epsilon),)
    axes = [0, *range(2, x.dim())]
    now, spread = x.mean(axes), x.var(axes, unbiased=False)
    y = F.batch_norm(x, now, spread, scale, bias, False, 0.0, epsilon)
    return y, mean * momentum + now * (1 - momentum), variance * momentum + spread * (1 - momentum)


def InstanceNormalization(x, scale, bias, *, epsilon=1e-5):
    return F.instance_norm(x, None, None, scale, bias, True, 0.0, epsilon)


def LayerNormalization(x, scale, bias=None, *, axis=-1, epsilon=1e-5, stash_type=1) -> tuple:
    del stash_type
    dims = list(range(axis % x.dim(), x.dim()))
    wide = x.float() if x.dtype in {torch.float16, torch.bfloat16} else x
    mean = wide.mean(dims, keepdim=True)
    inverse = (wide.var(dims, unbiased=False, keepdim=True) + epsilon).rsqrt()
    y = ((wide - mean) * inverse).to(x.dtype) * scale
    return (y if bias is None else y + bias), mean, inverse


def LRN(x, *, size, alpha=0.0001, beta=0.75, bias=1.0):
    square = F.pad((x * x).movedim(1, -1), [(size - 1) // 2, size - 1 - (size - 1) // 2])
    return x / (bias + alpha / size * square.unfold(-1, size, 1).sum(-1).movedim(-1, 1)) ** beta


def LpNormalization(x, *, axis=-1, p=2):
    norm = torch.linalg.vector_norm(x, p, axis, keepdim=True)
    return torch.where(norm == 0, torch.zeros_like(x), x / norm)


def MeanVarianceNormalization(x, *, axes=None):
    axes = axes or [0, 2, 3]
    return (x - x.mean(axes, keepdim=True)) / (x.var(axes, unbiased=False, keepdim=True).sqrt() + 1e-9)
