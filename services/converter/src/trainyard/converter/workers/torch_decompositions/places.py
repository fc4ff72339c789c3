"""Values put, reduced and looked up by place: scatter, index, put, searchsorted; distances of each to each."""

import math

import torch

from trainyard.converter.workers.torch_decompositions.refused import fixed

aten = torch.ops.aten


def scatter_reduce(x, dim, index, src, reduce, *, include_self=True):
    if reduce != "mean":
        return NotImplemented
    here = src if src.shape == index.shape else src[tuple(slice(size) for size in index.shape)]
    count = torch.zeros_like(x).scatter_add(dim, index, torch.ones_like(here))
    begun = x if include_self else torch.where(count > 0, torch.zeros_like(x), x)
    total = begun.scatter_add(dim, index, here)
    divisor = count + 1 if include_self else count.clamp(min=1)
    return torch.div(total, divisor, rounding_mode=None if x.is_floating_point() else "floor")


def index_reduce(x, dim, index, source, reduce, *, include_self=True):
    dim %= x.dim()
    shape = [-1 if at == dim else 1 for at in range(x.dim())]
    index = index.reshape(shape).expand_as(source)
    if reduce == "mean":
        return scatter_reduce(x, dim, index, source, reduce, include_self=include_self)
    return torch.scatter_reduce(x, dim, index, source, reduce, include_self=include_self)


def put(x, index, source, accumulate=False):
    index, source, flat = index.flatten(), source.flatten(), x.flatten()
    index = torch.where(index < 0, index + flat.shape[0], index)
    found = flat.scatter_add(0, index, source) if accumulate else flat.scatter(0, index, source)
    return found.reshape(x.shape)


def searchsorted(sequence, values, *, out_int32=False, right=False, side=None, sorter=None):
    """How many of the sequence come before each value."""
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    row, each = sequence.unsqueeze(-2), values.unsqueeze(-1)
    if sequence.dim() == 1:
        row = sequence
    before = row <= each if right or side == "right" else row < each
    return before.sum(-1).to(torch.int32 if out_int32 else torch.int64)


def searchsorted_scalar(sequence, value, *, out_int32=False, right=False, side=None, sorter=None):
    value = torch.tensor(value, dtype=sequence.dtype, device=sequence.device)
    return searchsorted(sequence, value, out_int32=out_int32, right=right, side=side, sorter=sorter)


def distance(difference, p):
    difference = difference.abs()
    if p == 0:
        return (difference != 0).to(difference.dtype).sum(-1)
    if p == 1:
        return difference.sum(-1)
    if p == 2:
        return (difference * difference).sum(-1).sqrt()
    return difference.amax(-1) if math.isinf(p) else (difference**p).sum(-1) ** (1 / p)


def cdist(x, y, p=2.0, compute_mode=None):
    del compute_mode
    return distance(x.unsqueeze(-2) - y.unsqueeze(-3), p)


def pdist(x, p=2.0):
    rows = fixed(x.shape[:1], "pdist")[0]
    first, second = torch.triu_indices(rows, rows, 1, device=x.device).unbind()
    return distance(x[first] - x[second], p)


TABLE = {
    aten.scatter_reduce.two: scatter_reduce,
    aten.index_reduce.default: index_reduce,
    aten.put.default: put,
    aten.searchsorted.Tensor: searchsorted,
    aten.searchsorted.Scalar: searchsorted_scalar,
    aten.cdist.default: cdist,
    aten._cdist_forward.default: cdist,
    aten.pdist.default: pdist,
    aten._pdist_forward.default: pdist,
}
