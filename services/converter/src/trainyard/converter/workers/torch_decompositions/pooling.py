"""Adaptive pooling into sizes that do not divide the input's, and batch normalisation by the batch.

A window of adaptive pooling begins at floor(i · size / out) and ends before ceil((i + 1) · size / out), so windows differ in
length. Source: torch.nn.AdaptiveAvgPool2d and its kernel, ATen/native/AdaptivePooling.h.
"""

import torch

from trainyard.converter.workers.torch_decompositions.refused import fixed

aten = torch.ops.aten


def windows(sizes, outs, device):
    """Places of what each window covers in the flattened input, [windows, longest], and which of them count; a shorter
    window repeats its last place."""
    places = torch.zeros(1, 1, dtype=torch.int64, device=device)
    counted = torch.ones(1, 1, dtype=torch.bool, device=device)
    for size, out in zip(sizes, outs):
        longest = max(-(-(at + 1) * size // out) - at * size // out for at in range(out))
        window, step = torch.arange(out, device=device), torch.arange(longest, device=device)
        start, end = (window * size) // out, ((window + 1) * size + out - 1) // out
        at = start.unsqueeze(-1) + step
        last = (end - 1).unsqueeze(-1)
        inner = torch.minimum(at, last)
        places = (places[:, None, :, None] * size + inner[None, :, None, :]).flatten(2, 3).flatten(0, 1)
        counted = (counted[:, None, :, None] & (at <= last)[None, :, None, :]).flatten(2, 3).flatten(0, 1)
    return places, counted


def gathered(x, outs, operator):
    """[…, windows, longest] of the input, with the places and what counts."""
    dims = len(outs)
    places, counted = windows(fixed(x.shape[-dims:], operator), outs, x.device)
    taken = x.flatten(-dims).index_select(-1, places.flatten())
    return taken.unflatten(-1, places.shape), places, counted


def adaptive_max_pool(x, output_size):
    taken, places, _ = gathered(x, output_size, "adaptive_max_pool")
    values, steps = taken.max(-1)
    indices = (torch.nn.functional.one_hot(steps, places.shape[-1]) * places).sum(-1)
    return values.unflatten(-1, output_size), indices.unflatten(-1, output_size)


def adaptive_avg_pool(x, output_size):
    taken, _, counted = gathered(x, output_size, "adaptive_avg_pool")
    weights = (counted / counted.sum(-1, keepdim=True)).to(x.dtype)
    return (taken * weights).sum(-1).unflatten(-1, output_size)


def batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """By the batch's own mean and variance. The exporter writes it as if by the running ones."""
    if not training:
        return NotImplemented
    others = [dim for dim in range(x.dim()) if dim != 1]
    shape = [-1 if dim == 1 else 1 for dim in range(x.dim())]
    mean = x.mean(others, keepdim=True)
    variance = ((x - mean) * (x - mean)).mean(others, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    found = (x - mean) * scale
    found = found if weight is None else found * weight.reshape(shape)
    found = found if bias is None else found + bias.reshape(shape)
    count = x.numel() / x.shape[1]
    kept = running_mean * (1 - momentum) + mean.flatten() * momentum
    spread = running_var * (1 - momentum) + variance.flatten() * (momentum * count / (count - 1))
    return found, mean.flatten(), scale.flatten(), kept, spread


TABLE = {
    aten.adaptive_max_pool1d.default: adaptive_max_pool,
    aten.adaptive_max_pool2d.default: adaptive_max_pool,
    aten.adaptive_max_pool3d.default: adaptive_max_pool,
    aten.adaptive_avg_pool3d.default: adaptive_avg_pool,
    aten._adaptive_avg_pool3d.default: adaptive_avg_pool,
    aten._native_batch_norm_legit_functional.default: batch_norm,
}
