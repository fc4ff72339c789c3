"""Reductions. Axes come as a tensor (opset 18) or as a list (before)."""

import torch


def _reduce(function, x, axes, keepdims, noop):
    dims = [] if axes is None else axes if isinstance(axes, list) else axes.tolist()
    if not dims and noop:
        return function(x.unsqueeze(-1), [-1], False)
    if x.dim() == 0:
        return function(x.unsqueeze(-1), [-1], False)
    return function(x, dims or list(range(x.dim())), bool(keepdims))


def _extreme(function, x, dims, keepdim, lowest):
    if x.numel():
        return function(x, dims, keepdim)
    if x.is_floating_point():
        neutral = float("-inf") if lowest else float("inf")
    elif x.dtype == torch.bool:
        neutral = not lowest
    else:
        neutral = torch.iinfo(x.dtype).min if lowest else torch.iinfo(x.dtype).max
    shape = torch.empty(x.shape, device="meta").sum(dims, keepdim).shape
    return torch.full(shape, neutral, dtype=x.dtype, device=x.device)


def ReduceSum(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: v.sum(d, k).to(v.dtype), x, axes, keepdims, noop_with_empty_axes)


def ReduceMean(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: v.mean(d, k), x, axes, keepdims, noop_with_empty_axes)


def ReduceMax(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    def largest(v, d, k):
        return _extreme(torch.amax, v, d, k, lowest=True)

    return _reduce(largest, x, axes, keepdims, noop_with_empty_axes)


def ReduceMin(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    def smallest(v, d, k):
        return _extreme(torch.amin, v, d, k, lowest=False)

    return _reduce(smallest, x, axes, keepdims, noop_with_empty_axes)


def ReduceProd(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    def product(v, d, k):
        for dim in sorted((one % v.dim() for one in d), reverse=True):
            v = v.prod(dim, keepdim=k).to(v.dtype)
        return v

    return _reduce(product, x, axes, keepdims, noop_with_empty_axes)


def ReduceL1(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: v.abs().sum(d, k).to(v.dtype), x, axes, keepdims, noop_with_empty_axes)


def ReduceL2(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: (v * v).sum(d, k).sqrt().to(v.dtype), x, axes, keepdims, noop_with_empty_axes)


def ReduceLogSum(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: v.sum(d, k).log(), x, axes, keepdims, noop_with_empty_axes)


def ReduceLogSumExp(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: v.logsumexp(d, k), x, axes, keepdims, noop_with_empty_axes)


def ReduceSumSquare(x, axes=None, *, keepdims=1, noop_with_empty_axes=0):
    return _reduce(lambda v, d, k: (v * v).sum(d, k).to(v.dtype), x, axes, keepdims, noop_with_empty_axes)


def _place(function, x, axis, keepdims, last):
    # torch names the first of equals nowhere in writing; where it matters the first is looked for.
    best = function(x, axis, True)
    hits = (x == best).to(torch.int8)
    if last:
        place = x.shape[axis] - 1 - hits.flip(axis).argmax(axis, keepdim=True)
    else:
        place = hits.argmax(axis, keepdim=True)
    return place if keepdims else place.squeeze(axis)


def ArgMax(x, *, axis=0, keepdims=1, select_last_index=0):
    return _place(torch.amax, x, axis, keepdims, select_last_index)


def ArgMin(x, *, axis=0, keepdims=1, select_last_index=0):
    return _place(torch.amin, x, axis, keepdims, select_last_index)


def _running(total, x, axis, reverse):
    """`total(x, dim)` along one axis, from its end where it is reversed."""
    dim = int(axis)
    return total(x.flip(dim), dim).flip(dim) if reverse else total(x, dim)


def CumSum(x, axis, *, exclusive=0, reverse=0):
    def total(v, dim):
        sums = v.cumsum(dim).to(v.dtype)
        return sums - v if exclusive else sums

    return _running(total, x, axis, reverse)


def CumProd(x, axis, *, exclusive=0, reverse=0):
    def total(v, dim):
        products = v.cumprod(dim).to(v.dtype)
        if exclusive:
            ones = torch.ones_like(products.narrow(dim, 0, 1))
            products = torch.cat([ones, products.narrow(dim, 0, products.shape[dim] - 1)], dim)
        return products

    return _running(total, x, axis, reverse)


def TopK(x, k, *, axis=-1, largest=1, sorted=1) -> tuple:
    del sorted  # a sorted answer is one of the unsorted ones
    values, places = torch.sort(x, dim=axis, descending=bool(largest), stable=True)
    count = int(k)
    return values.narrow(axis, 0, count), places.narrow(axis, 0, count)
